set -e
echo "Untitled" > index.txt
commit "Begin"
git switch -q -c "$TASK_BRANCH"
for word in $TASK_WORDS; do
    echo "$word" >> index.txt
    echo "About $word" > "$word.txt"
    commit "Add $word"
done
git switch -q main
echo "$TASK_TITLE" > index.txt
commit "Find a title"
echo "Free to use." > LICENSE
commit "Add a licence"
git push -q -u origin main "$TASK_BRANCH"
git rev-parse main > "$SECRET/tip"
git switch -q "$TASK_BRANCH"
