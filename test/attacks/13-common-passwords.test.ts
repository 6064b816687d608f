import { dictionary } from '@zxcvbn-ts/language-common'
import t from 'tap'
import { isCommonPassword } from '../../src/security/common-passwords.js'
import { password, postSession, signIn, signInAs } from '../support/dashboard.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const common = [
  ...['password1234', 'PASSWORD1234', 'Password2026!', '123456789012', 'qwerty123456', 'administrator', 'iloveyou1234'],
  ...[
    'passwordpassword',
    'Galatasaray1905',
    '!!Welcome12345!!',
    'qwertyqwertyqwerty',
    '1q2w3e4r5t6y',
    'ｐａｓｓｗｏｒｄ１２３４',
  ],
]
const chosen = [
  ...[password, 'correct horse battery', 'another good password', 'kedi pencerede uyuyor', 'x7#Lq0!vTz93'],
  ...['a1b9x8c7v6n5', '90817263546372', 'my dragon is asleep', ''],
]

t.test('finds common passwords in any case, lengthened at their ends or repeated, and no others', async (t) => {
  for (const each of common) t.equal(await isCommonPassword(each), true, each)
  for (const each of chosen) t.equal(await isCommonPassword(each), false, each)
})

t.test('the list is long enough to help and small enough to keep in memory', async (t) => {
  const list = dictionary['passwords-common']
  t.ok(list.length > 40_000 && list.length < 60_000)
  t.ok(list.join('').length < 600_000)
  for (const each of list) if (!(await isCommonPassword(each))) t.fail(each)
})

t.test(
  'refuses a common password wherever one is set: at the first sign-in, at a change and after a reset',
  async (t) => {
    const service = await startTestService({})
    t.teardown(() => destroyTestService(service))
    const { app, users } = service
    const request = { email: 'new@example.com', name: 'New', role: 'auditor', merchantIds: null } as const
    const refusal = { reason: 'invalid', field: 'password', rule: 'common-password' }
    t.match(await users.create(request, context, 'Password2026!'), { accepted: false, refusal })
    const admin = await signInAs(service, 'administrator')
    const { user, password: first } = (await admin.post('/users', { ...request, merchantIds: undefined })).json()
    const change = async (current: string, next: string) => {
      const session = await signIn(app, { email: request.email, password: current })
      return session.put('/session/password', { current, next })
    }
    const refused = await change(first, 'Password2026!')
    t.match(refused.json().error, { code: 40001, validationErrors: [{ rule: 'common-password', members: ['next'] }] })
    t.notMatch(refused.body, /Password2026/)
    t.equal((await change(first, password)).statusCode, 200)
    t.equal((await change(password, 'qwertyqwerty')).statusCode, 400)
    const { password: again } = (await admin.post(`/users/${user.userId}/reset`)).json()
    t.equal((await change(again, 'Galatasaray1905')).statusCode, 400)
    t.equal((await postSession(app, { email: request.email, password: 'Galatasaray1905' })).statusCode, 400)
  },
)
