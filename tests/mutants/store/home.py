"""Wrong versions of `alignbook.store.home`."""

MUTANTS = {
    "test_home.py": [
        ("home: one file makes a checkout", "return all((package", "return any((package"),
        (
            "home: beside site-packages",
            "if named else Unnamed()",
            "if named else package.parents[1]",
        ),
        (
            "home: the named folder in a checkout too",
            "    if is_checkout(package):\n        return package",
            "    if is_checkout(package) and not named:\n        return package",
        ),
        (
            "home: what is asked of a place is not refused",
            "        return self.__fspath__()\n",
            "        return lambda *_: None\n",
        ),
        ("home: joined to nothing", "Unnamed(*self._parts, os", "Unnamed(os"),
        ("home: no checkout is needed", "    if not is_checkout(package):", "    if False:"),
    ]
}
