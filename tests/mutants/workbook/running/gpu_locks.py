"""Wrong versions of `alignbook.workbook.running.gpu_locks`."""

MUTANTS = {
    "test_gpu_locks.py": [
        ("all take the first", "for name in names:", "for name in names[:1]:"),
        ("nobody waits", "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB"),
        ("it is kept", "        for lock in locks.values():\n            os.close(lock)\n", ""),
        ("one is enough", "while len(locks) < count:", "while len(locks) < 1:"),
        ("a cluster's job sees all", 'os.environ[VISIBLE] = ""', "pass"),
        ("what was visible is lost", "os.environ[VISIBLE] = before", "pass"),
    ]
}
