set -e
printf 'echo $(( $1 * %s ))\n' "$TASK_FACTOR" > "$TASK_PROGRAM"
printf 'test "$(sh %s 7)" = %s\n' "$TASK_PROGRAM" "$((TASK_FACTOR * 7))" > check.sh
commit "Begin"
number=1
while test "$number" -lt "$TASK_COUNT"; do
    if test "$number" = "$TASK_BAD"; then
        printf 'echo $(( $1 * %s + 1 ))\n' "$TASK_FACTOR" > "$TASK_PROGRAM"
    else
        echo "# $number" >> "$TASK_PROGRAM"
    fi
    commit "Change $number"
    test "$number" != "$TASK_BAD" || git rev-parse HEAD > "$SECRET/answer"
    number=$((number + 1))
done
git push -q -u origin main
git rev-parse main > "$SECRET/tip"
