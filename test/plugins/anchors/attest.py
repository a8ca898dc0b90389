# Makes an in-toto statement, signs it as a DSSE envelope with a new Ed25519 key, and writes the envelope and the key.

import json
import pathlib
import sys

from google.protobuf.json_format import MessageToDict
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner

folder = pathlib.Path(sys.argv[1])
subject = ResourceDescriptor(name="model.bin", digest={"sha256": "ab" * 32})
statement = Statement([subject.pb], "https://slsa.dev/provenance/v1", {"builder": "a build"})
statement.validate()
signer = CryptoSigner.generate_ed25519()
payload = json.dumps(MessageToDict(statement.pb)).encode()
envelope = Envelope(payload, "application/vnd.in-toto+json", {})
envelope.sign(signer)
(folder / "envelope.json").write_text(json.dumps(envelope.to_dict(), indent=1))
key = signer.public_key
(folder / "public-key.json").write_text(json.dumps({key.keyid: key.to_dict()}))
