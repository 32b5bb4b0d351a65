"""Wrong versions of `alignbook.workbook.folders`."""

MUTANTS = {
    "test_command_line.py": [
        ("phrases: another parser's in the same folder", "- needed - taken", "- needed"),
        ("phrases: a parser that nobody asked for", '    taken &= {*settings["set"]}\n', ""),
    ],
    "test_durable.py": [
        (
            "starts that were altered are believed",
            "        if (file.is_file() or not file.exists()) and durable.is_sound(file):\n"
            "            return json.loads(file.read_bytes())\n"
            "    except FileNotFoundError:\n        return None",
            "        return json.loads(file.read_bytes())\n"
            "    except FileNotFoundError:\n        return None",
        ),
        ("an empty table is whole", "file.stat().st_size > 0 and durable", "durable"),
        (
            "an altered table is whole",
            "return file.exists() and file.stat().st_size > 0 and durable.is_sound(file)",
            "return file.exists() and file.stat().st_size > 0",
        ),
    ],
    "test_report.py": [
        (
            "the oldest results",
            "return max(found, key=found.get)",
            "return min(found, key=found.get)",
        )
    ],
}
