set -e
for file in $TASK_FILES; do
    for line in 1 2 3 4 5 6 7 8 9; do echo "$file $line: $((TASK_VALUE + line)).25"; done > "$file"
done
commit "Add the numbers"
for change in 1 2 3 4 5 6 7; do
    if test "$change" = "$TASK_BAD"; then
        for file in $TASK_FILES; do sed -i '4,6s/\.25$/.00/' "$file"; done
        commit "Round all numbers"
    else
        for file in $TASK_FILES; do echo "Note $change" >> "$file"; done
        commit "Add note $change"
    fi
done
git push -q -u origin main
git rev-parse main > "$SECRET/tip"
for file in $TASK_FILES; do sed 's/\.00$/.25/' "$file" > "$SECRET/$file"; done
