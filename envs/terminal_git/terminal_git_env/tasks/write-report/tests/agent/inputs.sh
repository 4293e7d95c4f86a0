# Makes one input after another in $TMPDIR/input, and calls "each" with what it is.
case $TASK_SEPARATOR in comma) mark=, ;; semicolon) mark=';' ;; *) mark=: ;; esac
RANDOM=$TASK_SEED
for lines in 1 7 60 400; do
    for name in $TASK_NAMES; do
        count=0
        while test "$count" -lt "$lines"; do
            echo "$name$mark$((RANDOM % 5))"
            test "$((RANDOM % 9))" != 0 || echo
            count=$((count + 1))
        done
    done > "$TMPDIR/input"
    each "a file of $lines lines"
done
for name in $TASK_NAMES; do echo "$name${mark}3"; done > "$TMPDIR/input"
each "equal sums"
: > "$TMPDIR/input"
each "nothing"
