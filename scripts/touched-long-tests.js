// git diff --name-only BASE | node scripts/touched-long-tests.js: prints the long tests that cover the changed files, for scripts/test.js
// with TEST_LONG=1. `npm run test:long` runs all of them.
import { readFileSync } from 'node:fs'

const backup = ['long/backup', 'long/backup-kills', 'operations/backup']
const killedServices = ['crash/kill-during-creates', 'crash/takeover', 'crash/native-deposits', 'long/two-nodes.test']
const eventStoreDb = [
  ...['long/eventstoredb-event-store', 'long/eventstoredb-persistent-subscriptions', 'long/failover'],
  ...['long/service-on-eventstoredb', 'long/engine-outage', 'long/bad-events-eventstoredb'],
  ...['long/two-nodes-eventstoredb', 'long/copy-between-engines'],
]
const statements = ['bank/damaged-files', 'bank/interrupted-imports', 'bank/random-histories']
const clients = ['long/generated-clients', 'long/openapi-linters']
/** The tests of the clients. */
const sdks = ['long/sdks', 'long/sdk-runtimes', 'long/python-client']
const program = ['long/packages', 'long/installed-packages', 'long/demo', 'long/readme']

/** The table lists the tests to run when a file of a folder changes. A changed test runs itself. */
const table = {
  '.ci/': ['long/demo', 'long/openapi-linters'],
  'deploy/': ['long/packages'],
  'docs/auditing/': ['long/auditors-guide'],
  'docs/merchants/': ['long/readme', 'long/payment-page/example-shop'],
  'docs/start/': ['long/readme'],
  'examples/': ['long/demo', 'long/payment-page/example-shop'],
  'package-lock.json': program,
  'package.json': program,
  'packages/event-log-server/': [...eventStoreDb, 'event-log-server/dist/test/'],
  'packages/event-log/': [
    ...[...killedServices, ...backup, 'crash/tree', 'long/moved-log', 'long/copy-between-engines'],
    'attacks/22-damaged-rows',
  ],
  'packages/transparency-log/': ['long/auditors-guide', 'crash/tree', 'audit/integrity'],
  'README.md': ['long/readme'],
  'scripts/': ['long/packages', 'long/installed-packages'],
  'sdks/': sdks,
  'src/audit/': [
    'long/auditors-guide',
    'long/export-killed',
    'long/dashboard/audit-page',
    'audit/',
    'attacks/05-sealed-again',
  ],
  'src/bank/': statements,
  'src/bank-formats/': ['long/bank-files', 'bank-formats/properties'],
  'src/callbacks/': ['crash/', 'long/engine-outage', 'long/two-nodes'],
  'src/commands/bank/': statements,
  'src/commands/': ['crash/one-terminal-event', 'commands/hash-uniqueness', 'http/repeats', 'http/repeated-creates'],
  'src/domain/bank/': statements,
  'src/event-store/': [...eventStoreDb, 'crash/kill-during-creates', 'attacks/22-damaged-rows'],
  'src/http/dashboard/': [
    ...['long/dashboard/dashboard-failures', 'long/dashboard/viewing-transfers'],
    'long/below-a-path',
  ],
  'src/http/documentation/': [...clients, 'long/below-a-path'],
  'src/http/merchant-api/': [...clients, 'http/bad-input'],
  'src/http/payment-page/': ['long/payment-page/', 'long/below-a-path'],
  'src/http/public-url.ts': ['long/below-a-path'],
  'src/http/envelope.ts': clients,
  'src/http/refusals.ts': clients,
  'src/http/v1/': clients,
  'src/http/wallet-flow/': clients,
  'src/kernel/memory-size.ts': ['long/memory-estimates'],
  'src/main/': ['crash/takeover', 'long/rebuilds-and-kills', 'long/two-nodes.test', 'main/'],
  'src/operations/backup/': backup,
  'src/operations/copy/': ['long/copy-between-engines', 'long/moved-log', 'operations/copy'],
  'src/projections/event-problems.ts': ['main/bad-events'],
  'src/operations/keys/': ['cli/keys', 'long/moved-log'],
  'src/privacy/': ['crash/erasure', 'long/moved-log', 'long/dashboard/privacy-page'],
  'src/processes/': ['crash/takeover', 'projections/processes'],
  'src/projections/': ['long/rebuilds-and-kills', 'long/lists-of-many-transfers', 'projections/repetition'],
  'src/queries/': ['long/lists-of-many-transfers', 'queries/figures', 'queries/lists'],
  'src/read-models/': [
    ...['crash/takeover', 'long/lists-of-many-transfers', 'long/silent-mongodb', 'long/rebuilds-and-kills'],
    'long/two-nodes.test',
  ],
  'src/readers/': ['long/export-killed', 'long/lists-of-many-transfers'],
  'src/sandbox/': ['long/demo', 'long/readme', 'sandbox/'],
  'src/subscriptions/': ['crash/takeover', 'long/engine-outage'],
  'src/wallet/': ['crash/native-deposits', 'long/payment-page/manual-deposits'],
  'web/dashboard/': ['browser/dashboard/', 'long/dashboard/'],
  'web/payment-page/': ['browser/payment-page', 'long/payment-page/'],
}

const changed = readFileSync(0, 'utf8').split('\n').filter(Boolean)
const tests = new Set()
for (const file of changed) {
  for (const [folder, covering] of Object.entries(table)) {
    if (file.startsWith(folder)) for (const test of covering) tests.add(test)
  }
  const [, test] = /^test\/((?:long|crash)\/.*\.test)\.ts$/.exec(file) ?? []
  if (test !== undefined) tests.add(test)
}
console.log([...tests].sort().join('\n'))
