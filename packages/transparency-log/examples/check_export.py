#!/usr/bin/env python3
"""Verifies an export of transferd offline, with nothing but Python 3.8 and check_proof.py in the same directory.

    python3 check_export.py events.ndjson.manifest.json --key "$(cat verifier-key)"

Get the key once from a trusted source, not together with the export.
"""
import argparse, hashlib, json, os, sys

from check_proof import open_checkpoint, open_note, read, require


def check(path, key):
    """Returns the manifest and the size of the tree that covers its events. Raises Wrong or a Python error if it is invalid."""
    text = read(path)
    manifest = json.loads(text)
    notations = (json.dumps(manifest, ensure_ascii=False, **each) for each in ({"indent": 2}, {"separators": (",", ":")}))
    require(text.rstrip("\n") in notations, "a file that transferd has not written")
    signature = manifest.pop("signature")
    unsigned = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(unsigned.encode()).hexdigest()
    open_note(f"transferd-export/2\n{digest}\n\n{signature}\n", key)
    size, _ = open_checkpoint(manifest["checkpoint"], key)
    for file in manifest["files"]:
        with open(os.path.join(os.path.dirname(path), os.path.basename(file["name"])), "rb") as opened:
            content = hashlib.sha256()
            for block in iter(lambda: opened.read(1 << 20), b""):
                content.update(block)
        require(content.hexdigest() == file["sha256"], f"{file['name']} is not the file that the manifest describes")
    return manifest, size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("--key", required=True)
    options = parser.parse_args()
    try:
        manifest, size = check(options.manifest, options.key)
        print(f"The export is valid: {manifest['events']} events up to position {manifest['until']}, in a tree of {size}.")
    except Exception as error:
        sys.exit(f"The export is invalid: {error}")
