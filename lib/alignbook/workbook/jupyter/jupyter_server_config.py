"""What Lab saves: the workbook's own notebooks stay without outputs, as the repository has them.

Outputs are kept in the executed copies of the main job and in notebooks elsewhere, such as the
student edition's. Jupyter reads this file where `./run_all.sh lab` points it.
"""


def without_outputs(model, path, **_):
    """Take outputs, and what a kernel says of itself, out of a notebook about to be saved."""
    if model["type"] != "notebook" or not path.strip("/").startswith("notebooks/"):
        return
    for cell in model["content"]["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k == "tags"}
    metadata = model["content"]["metadata"]
    metadata["language_info"] = {"name": "python"}
    metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata.pop("widgets", None)


c.ContentsManager.pre_save_hook = without_outputs  # noqa: F821, Jupyter's configuration
