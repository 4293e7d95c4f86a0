set -e
write() {
    printf 'name = example\nport = %s\ntimeout = %s\nlevel = %s\nretries = 3\n' "$1" "$2" "$3" > "$TASK_FILE"
}
write 1000 30 info
commit "Add the settings"
printf 'An example.\n' > README
commit "Say what this is"
git switch -q -c "$TASK_BRANCH"
write 1000 "$TASK_TIMEOUT" info
commit "Wait longer"
git switch -q main
write "$TASK_PORT" 30 "$TASK_LEVEL"
commit "Use another port"
git push -q -u origin main "$TASK_BRANCH"
git rev-parse main "$TASK_BRANCH" > "$SECRET/parents"
