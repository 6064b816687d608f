import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { listedService } from '../support/listed-service.js'

const run = promisify(execFile)
t.setTimeout(600_000)

/** Installs the generator in a separate environment. Returns undefined if Python or its packages are not available. */
async function pythonWithGenerator(directory: string): Promise<string | undefined> {
  const bin = join(directory, 'python', 'bin')
  try {
    await run('python3', ['-m', 'venv', join(directory, 'python')])
    await run(join(bin, 'pip'), ['install', '--quiet', 'openapi-python-client>=0.26'])
    return bin
  } catch {
    return undefined
  }
}

const list = `
import json, sys
from client import AuthenticatedClient
from client.api.queries import list_transfers
from client.models import Kind, StatusFilter, TransferPage

base_url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=key, prefix="", auth_header_name="WebApiKey")
found, cursor = [], None
while True:
    more = {} if cursor is None else {"cursor": cursor}
    page = list_transfers.sync(client=client, kind=Kind.DEPOSIT, status=StatusFilter.PENDING, limit=2, **more)
    assert isinstance(page, TransferPage), page
    found += page.items
    cursor = page.next_cursor
    if cursor is None:
        break
print(json.dumps({"kinds": [str(each.kind) for each in found], "trackingIds": [str(each.tracking_id) for each in found]}))
`

const directory = tempDirectory(t)
const bin = await pythonWithGenerator(directory)

t.test(
  'a generated Python client lists transfers',
  { skip: bin ? false : 'Python with pip is not available' },
  async (t) => {
    const { baseUrl, webApiKey, trackingIds } = await listedService(t)
    const generator = join(bin!, 'openapi-python-client')
    const options = ['--meta', 'none', '--output-path', 'client', '--fail-on-warning']
    await run(generator, ['generate', '--url', `${baseUrl}/documentation/json`, ...options], {
      cwd: directory,
      // The generator runs its formatter by name, so it must be in PATH.
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    })
    const { stdout } = await run(join(bin!, 'python'), ['-c', list, baseUrl, webApiKey], { cwd: directory })
    const listed = JSON.parse(stdout) as { kinds: string[]; trackingIds: string[] }
    t.same(listed.trackingIds.sort(), trackingIds)
    t.same([...new Set(listed.kinds)], ['deposit'])
  },
)
