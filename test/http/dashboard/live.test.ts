import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'
import { until } from '../../support/until.js'

const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
await service.app.listen({ port: 0, host: '127.0.0.1' })
const blue = await service.merchant({ name: 'Blue' })
const red = await service.merchant({ name: 'Red' })

async function create(merchant: typeof blue): Promise<void> {
  const body = createBody('hosted', merchant.secretKey)
  await post(service.app, paths.hosted, body, { key: merchant.webApiKey })
}

interface Message {
  readonly changes: readonly { readonly status: string; readonly count: number; readonly amountMinor: number }[]
  readonly transfers: readonly { readonly merchantId: string; readonly claim: unknown }[]
}

/** Collects the messages of a live stream until the test ends. */
async function listen(t: Test, cookie: string, query = '', { server } = service.app) {
  const { port } = server.address() as AddressInfo
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = get({ port, path: `/dashboard/api/live${query}`, headers: { cookie } }, resolve)
    request.once('error', reject)
    t.teardown(() => request.destroy())
  })
  let text = ''
  const state = { ended: false }
  answer.on('data', (chunk) => {
    text += chunk
  })
  answer.once('end', () => {
    state.ended = true
  })
  answer.once('error', () => undefined)
  const messages = () => [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as Message)
  return { answer, state, messages }
}

t.test('sends each page the changes of the transfers that its user can see', async (t) => {
  const staff = await listen(t, (await signInAs(service, 'auditor')).cookie)
  const operator = await listen(t, (await signInAs(service, 'operator', [blue.id])).cookie)
  t.match(staff.answer.headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  const chosen = await listen(t, (await signInAs(service, 'auditor')).cookie, `?merchantId=${red.id}`)
  await create(red)
  await create(blue)
  await until(() => operator.messages().flatMap(({ transfers }) => transfers).length > 0)
  t.same(
    operator.messages().flatMap(({ changes }) => changes.map(({ count, status }) => [status, count])),
    [['Pending', 1]],
  )
  t.same(
    operator.messages().flatMap(({ transfers }) => transfers.map(({ merchantId, claim }) => [merchantId, claim])),
    [[blue.id, null]],
  )
  const seen = () => staff.messages().flatMap(({ transfers }) => transfers.map(({ merchantId }) => merchantId))
  await until(() => seen().includes(blue.id))
  await until(() => seen().includes(red.id))
  await until(() => chosen.messages().flatMap(({ transfers }) => transfers).length > 0)
  t.same(
    chosen.messages().flatMap(({ transfers }) => transfers.map(({ merchantId }) => merchantId)),
    [red.id],
  )
  const others = await listen(t, (await signInAs(service, 'operator', [blue.id])).cookie, `?merchantId=${red.id}`)
  t.equal(others.answer.statusCode, 404)
})

t.test('the stream ends with the session', async (t) => {
  const user = await signInAs(service, 'auditor')
  const page = await listen(t, user.cookie)
  t.equal(page.answer.statusCode, 200)
  t.equal((await user.delete('/session')).statusCode, 204)
  await until(() => page.state.ended)
})

t.test('allows six streams, and another one when one closes', async (t) => {
  const { cookie } = await signInAs(service, 'auditor')
  const pages = []
  for (let n = 0; n < 6; n++) pages.push(await listen(t, cookie))
  t.same(
    pages.map(({ answer }) => answer.statusCode),
    [200, 200, 200, 200, 200, 200],
  )
  const seventh = await listen(t, cookie)
  t.equal(seventh.answer.statusCode, 429)
  t.equal(seventh.answer.headers['retry-after'], '5')
  pages[0]!.answer.destroy()
  for (let n = 0; ; n++) {
    const { answer } = await listen(t, cookie)
    if (answer.statusCode === 200) break
    if (n === 100) throw new Error('the slot was not released')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
})

t.test('requires a session, and the server closes while streams are open', async (t) => {
  t.equal((await listen(t, '')).answer.statusCode, 401)
  const ending = await startTestService({ projections: true })
  t.teardown(() => destroyTestService(ending))
  await ending.app.listen({ port: 0, host: '127.0.0.1' })
  const page = await listen(t, (await signInAs(ending, 'auditor')).cookie, '', ending.app)
  await ending.app.close()
  await until(() => page.state.ended)
})
