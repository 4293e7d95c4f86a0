case $TASK_SEPARATOR in comma) mark=, ;; semicolon) mark=';' ;; *) mark=: ;; esac
cat > "$TASK_SCRIPT" <<EOF
awk -F '$mark' 'NF == 2 { sum[\$1] += \$2 } END { for (name in sum) print name, sum[name] }' | LC_ALL=C sort -k2,2nr -k1,1
EOF
sh "$TASK_SCRIPT" < example.txt | diff - example.out && git add -A && git commit -q -m "Add the script"
