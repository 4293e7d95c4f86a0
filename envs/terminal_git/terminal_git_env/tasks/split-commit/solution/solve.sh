git reset -q HEAD^
for file in $(printf '%s\n' $TASK_FILES | LC_ALL=C sort); do
    git add "$file"
    git commit -q -m "Change $file"
done
