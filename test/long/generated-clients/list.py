import json
import os

from client import AuthenticatedClient
from client.api.queries import list_transfers
from client.models import Kind, StatusFilter, TransferPage

env = os.environ
client = AuthenticatedClient(
    base_url=env["BASE_URL"], token=env["WEB_API_KEY"], prefix="", auth_header_name="WebApiKey"
)
found, more = [], {}
while more is not None:
    page = list_transfers.sync(client=client, kind=Kind.DEPOSIT, status=StatusFilter.PENDING, limit=2, **more)
    assert isinstance(page, TransferPage), page
    found += page.items
    more = None if page.next_cursor is None else {"cursor": page.next_cursor}
print(json.dumps([[str(each.kind), str(each.tracking_id)] for each in found]))
