set -e
mkdir -p "$TASK_FOLDER"
for name in "$TASK_NAME" cellar window; do echo "About the $name" > "$TASK_FOLDER/$name.txt"; done
commit "Add three texts"
edit=1
while test "$edit" -le "$TASK_EDITS"; do
    echo "More about the $TASK_NAME: $edit" >> "$TASK_FOLDER/$TASK_NAME.txt"
    commit "Write on"
    edit=$((edit + 1))
done
cp "$TASK_FOLDER/$TASK_NAME.txt" "$SECRET/lost"
rm "$TASK_FOLDER/$TASK_NAME.txt"
echo "Shorter" > "$TASK_FOLDER/cellar.txt"
commit "Tidy up"
later=1
while test "$later" -le "$TASK_LATER"; do
    echo "More about the window: $later" >> "$TASK_FOLDER/window.txt"
    commit "Write on"
    later=$((later + 1))
done
git push -q -u origin main
git rev-parse main > "$SECRET/tip"
