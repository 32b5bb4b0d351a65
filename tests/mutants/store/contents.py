"""Wrong versions of `alignbook.store.contents`."""

MUTANTS = {
    "test_stale.py": [
        (
            "times are no matter",
            "return [now.st_size, now.st_mtime_ns, now.st_ctime_ns, ",
            "return [now.st_size, 0, 0, ",
        ),
        ("only the time that anybody can set", "now.st_ctime_ns, now.st_ino", "0, now.st_ino"),
        (
            "a broken list ends the start",
            "    except (OSError, ValueError):\n        return {}",
            "    except OSError:\n        return {}",
        ),
        ("nothing is kept", "    if old:", "    if False:"),
        ("what is young is kept", "max(looks[name][1:3]) < now - YOUNG * 1e9", "True"),
    ]
}
