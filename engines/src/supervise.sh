# Runs a program for as long as somebody holds the other end of standard input, and not longer.
#
#     sh supervise.sh FOLDER SIGNAL COMMAND…
#
# Prints the program's process id; its output goes to FOLDER/log. When the input ends, which the death of
# the holder sees to, the program gets SIGNAL, then time, then SIGKILL, and FOLDER is removed. If the program ends by
# itself, FOLDER stays. The exit status is the program's.
folder=$1 signal=$2
shift 2
exec 3<&0

# A group of its own, to find whatever it leaves behind.
own_group=
if command -v setsid >/dev/null; then
    own_group=setsid
fi
$own_group "$@" </dev/null >>"$folder/log" 2>&1 3<&- &
program=$!

# Only from here on, since what is ignored is inherited.
trap '' INT HUP
ending=
trap end TERM
end() {
    ending=yes
    kill -s "$signal" "$program"
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
while kill -s 0 "$program"; do
    wait "$program"
    status=$?
done
if [ -n "$own_group" ]; then
    kill -s KILL -- "-$program"
    tries=0
    while kill -s 0 -- "-$program" && [ "$tries" -lt 40 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
fi
kill "$holder" ${patience:+"$patience"}
if [ -n "$ending" ]; then
    rm -rf "$folder"
fi
exit "$status"
