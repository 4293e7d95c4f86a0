"""Ends before it serves anything."""

import sys

for number in range(300):
    print(f"line {number}")
print("last words")
sys.exit(7)
