# SPDX-License-Identifier: MIT
"""
A program that writes down the signals it gets: witness.py FILE.

FILE gets a line "ready PID", then "SIGNAL from kernel" or "SIGNAL from PID" for each one.
SIGRTMIN ends it, with status 7. Run as a program.
"""
import os
import signal
import sys

SI_USER, SI_TKILL = 0, -6
SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
           signal.SIGALRM, signal.SIGWINCH, signal.SIGRTMIN}


def main():
    unblocked = not signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS) & SIGNALS
    with open(sys.argv[1], "w", encoding="ascii", buffering=1) as out:
        out.write(f"ready {os.getpid()}\n" if unblocked else "signals were blocked\n")
        while True:
            info = signal.sigwaitinfo(SIGNALS)
            if info.si_signo == signal.SIGRTMIN:
                sys.exit(7)
            sender = info.si_pid if info.si_code in (SI_USER, SI_TKILL) else "kernel"
            out.write(f"{signal.Signals(info.si_signo).name} from {sender}\n")


main()
