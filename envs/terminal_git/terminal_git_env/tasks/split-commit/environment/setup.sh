set -e
for file in $TASK_FILES; do seq 1 20 > "$file"; done
commit "Add the files"
echo "Two files" > README
commit "Say what this is"
git rev-parse main > "$SECRET/base"
for file in $TASK_FILES; do sed -i "${TASK_LINE}s/.*/new in $file/" "$file"; done
commit "Change everything"
git push -q -u origin main
git rev-parse main^{tree} > "$SECRET/tree"
