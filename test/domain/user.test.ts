import t from 'tap'
import { passwordProblem } from '../../src/domain/password-rules.js'
import { isAllowed, isMerchantRole, type Permission, permissions, roles } from '../../src/domain/user/permissions.js'
import { type UserCommand, type UserEvent, userDecider } from '../../src/domain/user/user.js'
import { specification } from '../support/given-when-then.js'

const { given, fold } = specification(userDecider)
const userId = '5b0d7c52-9a1c-4c66-8a57-0c2f6c1e7d11'
const at = '2026-03-01T10:00:00.000Z'
const common = { userId, at }
const details = {
  ...common,
  emailMac: 'mac',
  email: 'v1.sealed',
  name: 'Ada',
  role: 'auditor',
  merchantIds: null,
  passwordHash: '$argon2id$first',
  temporary: true,
} as const
const created: UserEvent = { type: 'UserCreated', data: details }
const create: UserCommand = { type: 'Create', ...details }
const disabled: UserEvent = { type: 'UserDisabled', data: common }
const secondFactor: UserEvent = { type: 'UserSecondFactorSet', data: { ...common, secret: 'v1.s', codeCounter: 100 } }
const signedIn = (codeCounter: number | null): UserEvent => ({ type: 'UserSignedIn', data: { ...common, codeCounter } })
const role = (name: 'operator' | 'auditor', merchantIds: readonly string[] | null): UserEvent => ({
  type: 'UserRoleChanged',
  data: { ...common, role: name, merchantIds },
})

t.test('creates a user once', async () => {
  given().when(create).then([created])
  given(created).when(create).then('conflict')
})

t.test('rejects every command for a nonexistent user', async () => {
  const commands: UserCommand[] = [
    { type: 'ChangeRole', role: 'auditor', merchantIds: null, at },
    { type: 'Disable', at },
    { type: 'Enable', at },
    { type: 'SetPassword', passwordHash: '$argon2id$', at },
    { type: 'Reset', passwordHash: '$argon2id$', at },
    { type: 'SetSecondFactor', secret: 'v1.s', codeCounter: 1, at },
    { type: 'RemoveSecondFactor', at },
    { type: 'EndSessions', at },
    { type: 'SignIn', codeCounter: null, at },
    { type: 'Confirm', codeCounter: null, at },
    { type: 'ConfirmAccess', by: 'user:a', at },
    { type: 'IssueRecoveryCodes', codeDigests: ['one'], at },
  ]
  for (const command of commands) given().when(command).then('not-found', command.type)
})

t.test('merchant roles require merchants, and other roles cannot have any', async () => {
  for (const name of roles) {
    const merchants = isMerchantRole(name)
    const bound: UserCommand = { ...create, role: name, merchantIds: ['m'] }
    const { type: _, ...data } = bound
    const free: UserCommand = { ...bound, merchantIds: null }
    given()
      .when(merchants ? bound : free)
      .then([{ type: 'UserCreated', data: { ...data, merchantIds: merchants ? ['m'] : null } } as UserEvent])
    given()
      .when(merchants ? free : bound)
      .then('invalid', name)
    given(created)
      .when({ type: 'ChangeRole', role: name, merchantIds: merchants ? [] : ['m'], at })
      .then('invalid', name)
  }
})

t.test('changes a role and its merchants, and a repeat changes nothing', async () => {
  const change: UserCommand = { type: 'ChangeRole', role: 'operator', merchantIds: ['a', 'b'], at }
  given(created)
    .when(change)
    .then([role('operator', ['a', 'b'])])
  given(created, role('operator', ['a', 'b']))
    .when(change)
    .then([])
  given(created, role('operator', ['a']))
    .when(change)
    .then([role('operator', ['a', 'b'])])
})

t.test('disables and enables a user once each', async () => {
  given(created).when({ type: 'Disable', at }).then([disabled])
  given(created, disabled).when({ type: 'Disable', at }).then([])
  given(created, disabled)
    .when({ type: 'Enable', at })
    .then([{ type: 'UserEnabled', data: common }])
  given(created).when({ type: 'Enable', at }).then([])
})

t.test('a reset removes the second factor and sets a password that must be changed', async () => {
  const reset: UserCommand = { type: 'Reset', passwordHash: '$argon2id$next', at }
  const set: UserEvent = {
    type: 'UserPasswordSet',
    data: { ...common, passwordHash: '$argon2id$next', temporary: true },
  }
  given(created).when(reset).then([set])
  given(created, secondFactor)
    .when(reset)
    .then([{ type: 'UserSecondFactorRemoved', data: common }, set])
  given(created, disabled).when(reset).then([set])
})

t.test('a disabled user cannot sign in', async () => {
  for (const type of ['SignIn', 'Confirm'] as const) {
    given(created, disabled).when({ type, codeCounter: null, at }).then('conflict')
    given(created, secondFactor, disabled).when({ type, codeCounter: 101, at }).then('conflict')
  }
})

t.test('accepts each code once, and no earlier code afterwards', async () => {
  for (const type of ['SignIn', 'Confirm'] as const) {
    const used: UserEvent = {
      type: type === 'SignIn' ? 'UserSignedIn' : 'UserConfirmed',
      data: { ...common, codeCounter: 105 },
    }
    given(created, secondFactor).when({ type, codeCounter: 105, at }).then([used])
    for (const codeCounter of [99, 100]) given(created, secondFactor).when({ type, codeCounter, at }).then('conflict')
    for (const codeCounter of [104, 105]) {
      given(created, secondFactor, used).when({ type: 'SignIn', codeCounter, at }).then('conflict')
      given(created, secondFactor, used).when({ type: 'Confirm', codeCounter, at }).then('conflict')
    }
    given(created, secondFactor).when({ type, codeCounter: null, at }).then('conflict', 'a sign-in without the code')
    given(created).when({ type, codeCounter: 105, at }).then('conflict', 'a code without a second factor')
  }
})

const issued: UserEvent = { type: 'UserRecoveryCodesIssued', data: { ...common, codeDigests: ['one', 'two'] } }
const used = (codeDigest: string): UserEvent => ({ type: 'UserRecoveryCodeUsed', data: { ...common, codeDigest } })

t.test('a recovery code replaces the code of the second factor once', async () => {
  given(created)
    .when({ type: 'IssueRecoveryCodes', codeDigests: ['one', 'two'], at })
    .then('conflict')
  given(created, secondFactor)
    .when({ type: 'IssueRecoveryCodes', codeDigests: ['one', 'two'], at })
    .then([issued])
  for (const [type, proven] of [
    ['SignIn', signedIn(null)],
    ['Confirm', { type: 'UserConfirmed', data: { ...common, codeCounter: null } }],
  ] as const) {
    const command: UserCommand = { type, codeCounter: null, recoveryCode: 'one', at }
    given(created, secondFactor, issued)
      .when(command)
      .then([used('one'), proven])
    given(created, secondFactor, issued, used('one')).when(command).then('conflict')
    given(created, secondFactor, issued, used('two'))
      .when(command)
      .then([used('one'), proven])
    given(created, secondFactor).when(command).then('conflict', 'no code was issued')
    const reissued: UserEvent = { type: 'UserRecoveryCodesIssued', data: { ...common, codeDigests: ['three'] } }
    given(created, secondFactor, issued, reissued).when(command).then('conflict', 'new codes replace earlier ones')
    const removed: UserEvent = { type: 'UserSecondFactorRemoved', data: common }
    given(created, secondFactor, issued, removed, secondFactor).when(command).then('conflict', 'a removed factor')
    given(created, secondFactor, issued, disabled).when(command).then('conflict', 'a disabled user')
  }
})

const heldBy = (by: string): UserEvent => ({ type: 'UserAccessHeld', data: { ...common, by } })
const confirmedBy = (by: string): UserEvent => ({ type: 'UserAccessConfirmed', data: { ...common, by } })

t.test('a held change takes effect, and the user cannot sign in until another administrator confirms', async () => {
  given()
    .when({ ...create, heldBy: 'user:a' })
    .then([created, heldBy('user:a')])
  given(created)
    .when({ type: 'ChangeRole', role: 'operator', merchantIds: ['m'], heldBy: 'user:a', at })
    .then([role('operator', ['m']), heldBy('user:a')])
  given(created, disabled)
    .when({ type: 'Enable', heldBy: 'user:a', at })
    .then([{ type: 'UserEnabled', data: common }, heldBy('user:a')])
  given(created).when({ type: 'Enable', heldBy: 'user:a', at }).then([])
  const set: UserEvent = { type: 'UserPasswordSet', data: { ...common, passwordHash: '$argon2id$b', temporary: true } }
  given(created, secondFactor)
    .when({ type: 'Reset', passwordHash: '$argon2id$b', heldBy: 'user:a', at })
    .then([{ type: 'UserSecondFactorRemoved', data: common }, set, heldBy('user:a')])
  for (const type of ['SignIn', 'Confirm'] as const) {
    given(created, heldBy('user:a')).when({ type, codeCounter: null, at }).then('conflict')
  }
  given(created, heldBy('user:a'), confirmedBy('user:b'))
    .when({ type: 'SignIn', codeCounter: null, at })
    .then([signedIn(null)])
})

t.test('neither the administrators who made the held changes nor the user can confirm them', async () => {
  const confirm = (by: string): UserCommand => ({ type: 'ConfirmAccess', by, at })
  given(created).when(confirm('user:a')).then([])
  const held = [created, heldBy('user:a'), heldBy('user:b')]
  for (const by of ['user:a', 'user:b', `user:${userId}`])
    given(...held)
      .when(confirm(by))
      .then('conflict', by)
  for (const by of ['user:c', 'cli:root'])
    given(...held)
      .when(confirm(by))
      .then([confirmedBy(by)])
  given(...held, confirmedBy('user:c'), heldBy('user:c'))
    .when(confirm('user:a'))
    .then([confirmedBy('user:a')])
})

t.test('every change that would prevent a sign-in ends the sessions', async (t) => {
  const epochAfter = (...events: UserEvent[]) => {
    const state = fold([created, ...events])
    return state.userId === null ? undefined : state.epoch
  }
  const password: UserEvent = {
    type: 'UserPasswordSet',
    data: { ...common, passwordHash: '$argon2id$', temporary: false },
  }
  for (const event of [
    disabled,
    password,
    role('operator', ['m']),
    { type: 'UserSessionsEnded', data: common } as const,
    heldBy('user:a'),
  ])
    t.equal(epochAfter(event), 1, event.type)
  for (const event of [secondFactor, signedIn(null), { type: 'UserEnabled', data: common } as const])
    t.equal(epochAfter(event), 0, event.type)
  t.equal(epochAfter(disabled, { type: 'UserEnabled', data: common }, password), 2)
})

t.test('throws for an event before the creation', async (t) => {
  for (const event of [disabled, secondFactor, signedIn(null)])
    t.throws(() => fold([event]), { message: 'a user changed before being created' })
})

t.test('a password must have at least twelve characters and must not be easy to guess', async (t) => {
  const email = 'ada.lovelace@example.com'
  const problem = (password: string) => passwordProblem(password, email)
  t.match(problem('elevenchars'), { rule: 'too-short', values: { least: 12 } })
  t.equal(problem('twelve chars'), undefined)
  t.match(
    problem('👩‍🚀'.repeat(3)),
    { rule: 'too-short', values: { least: 12 } },
    'the minimum counts characters, not bytes',
  )
  t.match(problem('aaaaaaaaaaaaaaaa'), { rule: 'one-character' })
  t.match(problem(' Ada.Lovelace@EXAMPLE.com '), { rule: 'equals-email' })
  t.match(problem('x'.repeat(200) + 'y'.repeat(57)), { rule: 'too-long', values: { most: 256 } })
  t.equal(problem(`${email} and more`), undefined)
})

t.test('each permission belongs to a role, and the auditor cannot change anything', async (t) => {
  for (const permission of Object.keys(permissions) as Permission[]) {
    t.ok(
      roles.some((each) => isAllowed(each, permission)),
      permission,
    )
    // A verification only reads, and an evidence package changes no transfer.
    const allowed = ['account:own', 'audit:verify', 'audit:evidence']
    if (!permission.endsWith(':read') && !allowed.includes(permission))
      t.notOk(isAllowed('auditor', permission), permission)
  }
})
