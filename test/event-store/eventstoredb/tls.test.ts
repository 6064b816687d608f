import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { startEventsServer } from '../../../src/operations/events-server/events-server.js'
import { temporaryDirectory } from '../../support/processes.js'

const directory = temporaryDirectory(t)
const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]

function certificate(): string | false {
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const output = ['-keyout', keyFile, '-out', certFile]
  try {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...names, ...output], {
      stdio: 'ignore',
    })
    return false
  } catch {
    return 'NOT RUN: openssl is not installed'
  }
}

t.test('connects over TLS with the user and password of the URL', { skip: certificate() }, async (t) => {
  const server = await startEventsServer({
    host: '127.0.0.1',
    port: 0,
    directory: undefined,
    isWritable: true,
    allowsServiceStreams: false,
    tls: { certFile, keyFile },
    advertise: undefined,
    users: { accounts: [{ login: 'service', password: 'p@ss:word/1', groups: ['$admins'] }], notices: [] },
    onFault: (error) => t.fail(String(error)),
  })
  t.teardown(() => server.stop())
  const port = new URL(server.url).port
  const open = (user: string, query = `tlsCAFile=${certFile}`) => {
    const store = openEventStoreDb({ url: `esdb://${user}localhost:${port}?tls=true&${query}`, deadlineMs: 5_000 })
    t.teardown(() => store.close())
    return store
  }
  const events = () => [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }]

  const store = open('service:p%40ss%3Aword%2F1@')
  t.equal((await store.append('x', 'no_stream', events())).revision, 0)
  t.equal((await store.readAll({ maxCount: 10 })).events.length, 1)
  t.equal((await store.readStream('x')).length, 1)
  await t.rejects(store.persistentSubscriptions.info('g'), { name: 'PersistentSubscriptionMissingError' })

  for (const user of ['', 'service:hunter2@', 'unknown:hunter2@']) {
    const unauthorized = open(user)
    for (const attempt of [
      () => unauthorized.append('x', 0, events()),
      () => unauthorized.readStream('x'),
      () => unauthorized.readAll({ maxCount: 1 }),
      () => unauthorized.persistentSubscriptions.info('g'),
    ]) {
      const error = (await attempt().catch((error: unknown) => error)) as Error
      t.match(error, { name: 'StoreUnavailableError', message: /access denied/ }, user)
      t.notMatch(`${error.message} ${error.stack} ${JSON.stringify(error)}`, 'hunter2')
    }
  }

  const withoutCa = open('service:p%40ss%3Aword%2F1@', 'connectionName=x')
  await t.rejects(withoutCa.readAll({ maxCount: 1 }), { name: 'StoreUnavailableError', message: /certificate/ })
  t.equal((await store.readStream('x')).length, 1, 'no event was appended')
})
