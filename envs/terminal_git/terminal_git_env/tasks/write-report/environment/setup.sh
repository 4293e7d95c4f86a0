set -e
case $TASK_SEPARATOR in comma) mark=, ;; semicolon) mark=';' ;; *) mark=: ;; esac
set -- $TASK_NAMES
printf '%s\n' "$1${mark}5" "$2${mark}7" "" "$1${mark}4" "$3${mark}9" > example.txt
printf '%s\n' "$1 9" "$3 9" | sort > example.out
echo "$2 7" >> example.out
commit "Add an example"
git push -q -u origin main
