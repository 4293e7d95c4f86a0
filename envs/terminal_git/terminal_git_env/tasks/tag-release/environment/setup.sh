set -e
echo "0.1.0" > VERSION
echo "$TASK_PRODUCT" > README
commit "Begin"
git push -q -u origin main
echo "A better text about $TASK_PRODUCT" > README
commit "Write a better text"
git push -q origin main
git rev-parse main > "$SECRET/theirs"
git reset -q --hard HEAD^
git update-ref refs/remotes/origin/main main
git reflog expire --expire=now --all
git gc -q --prune=now
