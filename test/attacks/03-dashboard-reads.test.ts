import { get, type IncomingMessage } from 'node:http'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { signInAs } from '../support/dashboard.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { heldReader, until } from './held-reader.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const held = heldReader()
t.teardown(() => held.close())
const app = await service.otherNode({ readers: held.readers })
await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
const port = typeof address === 'object' ? address?.port : 0
const line = Buffer.from('line\r\n')

/** Opens a response whose body the test reads. */
function open(t: Test, cookie: string, path: string, method = 'GET'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get({ port, path: `/dashboard/api${path}`, method, headers: { cookie }, agent: false }, resolve)
    request.once('error', reject)
    t.teardown(() => request.destroy())
  })
}

/** Returns the requests of the latest file to the reader thread. */
function fileRequests() {
  const id = held.reads().at(-1)!
  return { id, pages: () => held.received.filter((each) => each.id === id && each.kind !== 'cancel').length }
}

t.test('each person has a limit of reads, and the reads of one do not count for another', async (t) => {
  const limited = await service.otherNode({ monotonicMs: () => 0 })
  const [busy, other] = [await signInAs(service, 'auditor'), await signInAs(service, 'auditor')]
  const read = ({ cookie }: typeof busy) => limited.inject({ url: '/dashboard/api/payouts', headers: { cookie } })
  const answers = await Promise.all(Array.from({ length: 310 }, () => read(busy)))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 300)
  const rejected = answers.filter(({ statusCode }) => statusCode === 429)
  t.equal(rejected.length, 10)
  for (const response of rejected) {
    t.equal(response.headers['retry-after'], '1')
    t.match(response.json(), { error: { code: 42901 } })
  }
  t.equal((await read(other)).statusCode, 200)
})

t.test('HEAD of the live stream or a file takes no slot', async (t) => {
  const { cookie } = await signInAs(service, 'auditor')
  const before = held.reads().length
  for (let n = 0; n < 8; n++) {
    for (const path of ['/live', '/transfers.csv', '/audit/export?format=csv']) {
      const response = await open(t, cookie, path, 'HEAD')
      t.equal(response.statusCode, 404, path)
      response.resume()
    }
  }
  t.equal(held.reads().length, before)
  for (let n = 0; n < 6; n++) t.equal((await open(t, cookie, '/live')).statusCode, 200)
  const seventh = await open(t, cookie, '/live')
  t.equal(seventh.statusCode, 429)
  t.equal(seventh.headers['retry-after'], '5')
})

t.test('an export breaks off when its reader’s session ends, and so does not look complete', async (t) => {
  const { cookie, userId } = await signInAs(service, 'auditor')
  const opening = open(t, cookie, '/transfers.csv')
  await until(() => held.reads().length > 0 && fileRequests().pages() === 1)
  const { id, pages } = fileRequests()
  held.respond({ id, kind: 'page', bytes: line })
  const response = await opening
  let text = ''
  response.on('data', (chunk) => (text += chunk))
  const broken = new Promise((resolve) => response.once('error', resolve))
  await until(() => text !== '' && pages() === 2)
  const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  t.match(await service.users.execute(userId, { type: 'EndSessions' }, context), { accepted: true })
  await service.userDirectory.catchUp()
  held.respond({ id, kind: 'page', bytes: line })
  t.match(await broken, { code: 'ECONNRESET' })
  t.equal(text, 'line\r\n', 'nothing is sent after the end of the session')
  t.equal(response.complete, false)
  await until(() => held.received.some((each) => each.id === id && each.kind === 'cancel'))
})

t.test('a stalled reader holds a few pages, and is disconnected', async (t) => {
  const { cookie } = await signInAs(service, 'auditor')
  const before = held.reads().length
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const opening = open(t, cookie, '/audit/export?format=ndjson')
  await until(() => held.reads().length > before)
  const { id, pages } = fileRequests()
  const page = new Uint8Array(1024 * 1024)
  let answered = 0
  const answerAll = () => {
    for (; answered < pages(); answered++) held.respond({ id, kind: 'page', bytes: page })
  }
  answerAll()
  const response = await opening
  response.pause()
  const closed = new Promise((resolve) => response.once('error', resolve))
  // The operating system buffers some megabytes. Then the service requests no further page.
  let idleTurns = 0
  await until(() => {
    idleTurns = answered === pages() ? idleTurns + 1 : 0
    answerAll()
    return idleTurns > 5_000
  })
  t.ok(answered < 40, `${answered} pages of a megabyte were requested`)
  mock.timers.tick(60_000)
  await until(() => held.received.some((each) => each.id === id && each.kind === 'cancel'))
  response.resume()
  t.match(await closed, { code: 'ECONNRESET' })
})
