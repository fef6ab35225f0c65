# Runs a program for as long as somebody holds the other end of standard input, and not longer.
#
#     sh -c "$(cat supervise.sh)" supervise FOLDER SIGNAL COMMAND…
#
# Prints the program's process id; its output goes to FOLDER/log. When the input ends, which the death of
# the holder sees to, the program gets SIGNAL, then time, then SIGKILL, and FOLDER is removed. If the program ends by
# itself, FOLDER stays. The exit status is the program's.
folder=$1 signal=$2
shift 2
exec 3<&0

"$@" </dev/null >>"$folder/log" 2>&1 3<&- &
program=$!

# Only from here on, since what is ignored is inherited.
trap '' INT HUP
ending=
trap end TERM
end() {
    ending=yes
    kill -s "$signal" "$program" 2>/dev/null
    (sleep 20; kill -s KILL "$program") >/dev/null 2>&1 3<&- &
    patience=$!
}
# Builtins alone, so that nothing is left when this subshell is ended.
(read -r _ <&3; kill -s TERM $$) >/dev/null 2>&1 &
holder=$!
exec 3<&- </dev/null
echo "$program"
exec >&- 2>/dev/null

# A trap interrupts `wait`, and then the program may still run.
wait "$program"
status=$?
while kill -s 0 "$program" 2>/dev/null; do
    wait "$program"
    status=$?
done
kill "$holder" ${patience:+"$patience"} 2>/dev/null
if [ -n "$ending" ]; then
    rm -rf "$folder"
fi
exit "$status"
