"""Asks a running service through the client `made`, which openapi-python-client wrote from its document.

usage: python generated.py <url of the service> <key>   (in the folder that holds `made`)
"""

import importlib
import pkgutil
import sys

sys.path.insert(0, ".")

import made  # noqa: E402
from made.api.classify import post_api_v1_classify  # noqa: E402
from made.api.receipts import get_receipt_lookup  # noqa: E402
from made.client import AuthenticatedClient  # noqa: E402
from made.models.classify_request import ClassifyRequest  # noqa: E402

# Every module of the client loads: a name that clashes, or a default that is no value, fails here.
for module in pkgutil.walk_packages(made.__path__, "made."):
    importlib.import_module(module.name)

url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key, prefix="", auth_header_name="X-API-Key")
order = ClassifyRequest(message="The applicant is shortlisted.", session_id="generated")
receipt = post_api_v1_classify.sync(client=client, body=order)
assert receipt.classification == "SAFE", receipt
found = get_receipt_lookup.sync(client=client, entry_id=str(receipt.entry_id))
assert found.to_dict()["entry_id"] == str(receipt.entry_id), found
refused = get_receipt_lookup.sync(client=client, entry_id="00000000-0000-7000-8000-000000000000")
assert type(refused).__name__ == "ReceiptNotFound", refused
