git merge "$TASK_BRANCH"
printf 'name = example\nport = %s\ntimeout = %s\nlevel = %s\nretries = 3\n' "$TASK_PORT" "$TASK_TIMEOUT" "$TASK_LEVEL" > "$TASK_FILE"
git add -A
git commit -q --no-edit
