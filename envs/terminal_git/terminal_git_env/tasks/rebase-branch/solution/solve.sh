git rebase main || {
    words=
    for word in $TASK_WORDS; do
        words="$words$word
"
        printf '%s\n%s' "$TASK_TITLE" "$words" > index.txt
        git add -A
        GIT_EDITOR=true git rebase --continue && break
    done
}
git log --oneline
