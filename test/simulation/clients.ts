import { createHash } from 'node:crypto'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { password } from '../support/dashboard.js'
import { type CreateKind, createBody, paths, walletPaths } from '../support/merchant-requests.js'
import { scheduler } from './environment.js'
import {
  canaryOf,
  customers,
  origin,
  type SimulatedMerchant,
  type SimulatedUser,
  walletEmail,
  walletPassword,
} from './foundation.js'
import type { ModelTransfer } from './log-model.js'
import { must } from './violation.js'
import type { World } from './world.js'

const maxActions = 4

/** The actions of clients, and their shared memory. */
export class Clients {
  /** The revisions and statuses that responses have shown. */
  readonly acknowledged: { readonly trackingId: string; readonly revision: number; readonly status: string }[] = []
  /** The trackingId that a create returned, by merchant and referenceId. */
  readonly created = new Map<string, string>()
  /** The creates that were sent, in order. */
  readonly sent: {
    readonly merchant: SimulatedMerchant
    readonly kind: CreateKind
    readonly body: string
    readonly referenceId: string
  }[] = []
  readonly erasing = new Set<string>()
  /** Whether an erasure may be half done. The next start of a node finishes it. */
  isInterrupted = false
  #references = 0
  /** The withdrawals that users are releasing or cancelling, also those whose outcome they do not know. */
  readonly #leaving = new Set<string>()

  constructor(readonly world: World) {}

  get random() {
    return this.world.random
  }

  user(role: string): SimulatedUser {
    return this.random.pick(this.world.users.filter((user) => user.role === role))
  }

  /** Returns a transfer of the log, so that also those are used whose creation was not acknowledged. */
  transfer(isFit: (transfer: ModelTransfer) => boolean = () => true): ModelTransfer | undefined {
    const fit = [...this.world.model.transfers.values()].filter(isFit)
    // Most steps concern few transfers, so that they meet.
    const recent = fit.slice(-4)
    return recent.length === 0 ? undefined : this.random.pick(this.random.chance(0.8) ? recent : fit)
  }

  async create(): Promise<void> {
    const { random, world } = this
    const again = this.sent.length > 0 && random.chance(0.2)
    if (again) return this.#send(random.pick(this.sent.slice(-5)))
    const merchant = random.pick(world.base.merchants)
    const kind = random.pick<CreateKind>(['native', 'native', 'hosted', 'withdrawal', 'withdrawal'])
    const free = customers.filter((each) => !this.erasing.has(each))
    const customer = random.pick(free.length > 0 ? free : ['guest'])
    const referenceId = `R${++this.#references}`
    const fields = {
      referenceId,
      userId: `customer-${customer}`,
      name: canaryOf(customer),
      username: canaryOf(customer),
      ...(kind === 'withdrawal' && { accountNumber: `ACC${canaryOf(customer)}`, identityNumber: canaryOf(customer) }),
      paymentMethod: kind === 'withdrawal' ? random.pick([2, 2, 1]) : random.pick([1, 7, 7]),
    }
    const amount = random.pick(['100.00', '100.00', '40.00', '250.50', '9000.00'])
    const request = { merchant, kind, referenceId, body: createBody(kind, merchant.secretKey, fields, amount) }
    this.sent.push(request)
    return this.#send(request)
  }

  async #send({ merchant, kind, referenceId, body }: (typeof this.sent)[number]): Promise<void> {
    const options = (): InjectOptions => ({
      method: 'POST',
      url: paths[kind],
      headers: { webapikey: merchant.webApiKey, 'content-type': 'application/json-patch+json' },
      payload: body,
    })
    const response = await this.world.repeated(options)
    if (response?.statusCode !== 200) return
    const content = response.json<{ result?: { trackingId: string } | null; trackingId?: string }>()
    const trackingId = String((content.result ?? content).trackingId)
    const key = `${merchant.id} ${referenceId}`
    const first = this.created.get(key) ?? trackingId
    must('nothing-lost', first === trackingId, () => `the create of ${referenceId} returned ${first} and ${trackingId}`)
    this.created.set(key, trackingId)
    const owner = this.world.model.transfers.get(trackingId)?.merchantId
    must('nothing-lost', owner !== undefined, () => `the acknowledged transfer ${trackingId} is not in the log`)
    must('merchant-isolation', owner === merchant.id, () => `${merchant.id} received a transfer of ${owner}`)
  }

  async dashboard(user: SimulatedUser, method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown) {
    const send = () => {
      const headers = { cookie: user.cookie, origin, 'x-csrf-token': user.csrfToken }
      const options: InjectOptions = { method, url: `/dashboard/api${path}`, headers }
      return this.world.request(body === undefined ? options : { ...options, payload: body as object })
    }
    const response = await send()
    const isTooOld = response?.statusCode === 403 && response.body.includes('recent-sign-in-needed')
    // Sessions expire, and a restore ends all of them.
    return (response?.statusCode === 401 || isTooOld) && (await this.#signIn(user)) ? send() : response
  }

  async #signIn(user: SimulatedUser): Promise<boolean> {
    const payload = { email: user.email, password }
    const response = await this.world.request({
      ...{ method: 'POST', url: '/dashboard/api/session', headers: { origin }, payload },
    })
    if (response?.statusCode !== 200) return false
    user.cookie = response.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    user.csrfToken = response.json<{ csrfToken: string }>().csrfToken
    return true
  }

  /** Forgets what a restored log has lost. */
  forget(): void {
    const { transfers } = this.world.model
    const known = this.acknowledged.filter(({ trackingId, revision, status }) => {
      return transfers.get(trackingId)?.statuses[revision] === status
    })
    this.acknowledged.splice(0, this.acknowledged.length, ...known)
    for (const [key, trackingId] of this.created) if (!transfers.has(trackingId)) this.created.delete(key)
  }

  /** Resumes payouts, after people have compared the bank with the restored log. */
  async resumePayouts(): Promise<void> {
    for (let i = 0; i < 10; i++) {
      const administrator = this.user('administrator')
      const seen = await this.dashboard(administrator, 'GET', '/audit/integrity')
      if (seen?.statusCode === 200) {
        const { payoutsStopped } = seen.json<{ payoutsStopped: { revision: number } | null }>()
        if (!payoutsStopped) return
        const body = { reason: 'compared with the bank', revision: payoutsStopped.revision }
        const resumed = await this.dashboard(administrator, 'POST', '/audit/resume-payouts', body)
        if (resumed?.statusCode === 200) return
      }
      await scheduler.sleep(300)
    }
  }

  /** Shows a transfer to a user; `undefined` if the outcome stays unknown or the user cannot see it. */
  async show(user: SimulatedUser, trackingId: string): Promise<Detail | undefined> {
    for (let i = 0; i < 6; i++) {
      const response = await this.dashboard(user, 'GET', `/transfers/${trackingId}`)
      if (response?.statusCode === 200) return response.json<Detail>()
      if (response && response.statusCode < 500) return undefined
      await scheduler.sleep(200 + this.random.below(300))
    }
    return undefined
  }

  #acknowledge(response: LightMyRequestResponse): Detail {
    const detail = response.json<Detail>()
    const { trackingId, revision, status } = detail
    this.acknowledged.push({ trackingId, revision, status })
    const transfer = this.world.model.transfers.get(trackingId)
    const isThere = transfer?.statuses[revision] === status
    must('nothing-lost', isThere, () => `${trackingId} was ${status} at revision ${revision}, but not in the log`)
    return detail
  }

  /** Takes some of the actions that the page of a transfer offers. */
  async act(): Promise<void> {
    const transfer = this.transfer()
    if (!transfer) return
    for (let i = 0; i < maxActions; i++) {
      const user = this.random.chance(0.6) ? this.user('operator') : this.user('approver')
      const seen = await this.show(user, transfer.trackingId)
      if (!seen || !(await this.#actOn(user, seen)) || this.random.chance(0.3)) return
    }
  }

  async #actOn(user: SimulatedUser, seen: Detail): Promise<boolean> {
    const isPaid = this.world.bank.some(({ trackingId }) => trackingId === seen.trackingId)
    const actions = seen.actions.filter((action) => {
      if (seen.kind === 'withdrawal' && action === 'complete') return isPaid
      // A user who has paid a withdrawal only completes it.
      return !isPaid || !['cancel', 'release', 'claim'].includes(action)
    })
    if (actions.length === 0) return false
    // Ending a transfer leaves fewer actions.
    const others = actions.filter((action) => !['cancel', 'claim', 'release', 'manual-control'].includes(action))
    const action = this.random.pick(others.length > 0 && this.random.chance(0.85) ? others : actions)
    return (await this.take(user, seen, action)) !== undefined
  }

  async take(user: SimulatedUser, seen: Detail, action: string): Promise<Detail | undefined> {
    const body = { revision: seen.revision, ...this.#details(seen, action) }
    const leaving = `${seen.trackingId} ${user.userId}`
    if (action === 'release' || action === 'cancel') this.#leaving.add(leaving)
    for (let i = 0; i < 3; i++) {
      const response = await this.dashboard(user, 'POST', `/transfers/${seen.trackingId}/${action}`, body)
      if (response && response.statusCode < 500) this.#leaving.delete(leaving)
      if (response?.statusCode === 200) return this.#acknowledge(response)
      if (response && response.statusCode < 500) return undefined
      await scheduler.sleep(100 + this.random.below(300))
    }
    return undefined
  }

  /** Returns a random amount up to this one. */
  #part(amountMinor: number): number {
    return 25 * (1 + this.random.below(Math.floor(amountMinor / 25)))
  }

  #details(seen: Detail, action: string): object {
    const { random } = this
    const amountMinor = random.chance(0.7) ? seen.amountMinor : this.#part(2 * seen.amountMinor)
    const money = { amountMinor, confirmedAmountMinor: amountMinor }
    const text = random.pick(['checked with the bank', 'by phone'])
    const reference = `FT-${random.below(4)}`
    switch (action) {
      case 'complete':
        return random.chance(0.7) ? {} : { ...money, reason: text }
      case 'receive': {
        const part = random.chance(0.5) ? seen.amountMinor : this.#part(seen.amountMinor)
        return { amountMinor: part, confirmedAmountMinor: part, reference }
      }
      case 'cancel':
      case 'manual-control':
        return { message: text }
      case 'correct':
        return { ...money, reason: text, reference: random.chance(0.5) ? reference : undefined }
      case 'approve-correction':
        return { amountMinor: seen.proposedCorrection?.amountMinor ?? amountMinor }
      case 'return':
        return {
          amountMinor: random.chance(0.5) ? Math.max(1, seen.receivedMinor - seen.returnedMinor) : amountMinor,
          receiptUrl: `https://bank.example/${random.below(3)}`,
        }
      case 'refund':
        return {
          amountMinor: this.#part(seen.amountMinor),
          ...(random.chance(seen.paymentMethod === 1 ? 0.2 : 0.9) && { accountNumber: `ACC${seen.name}` }),
        }
      case 'approve-refund':
      case 'reject-refund':
        return { refundId: seen.refunds?.find(({ state }) => state === 'proposed')?.refundId ?? 'none' }
      case 'payout-returned':
        return { amountMinor: this.#part(seen.amountMinor), reasonCode: 'AC04', reference }
      case 'pay-again':
        return { amountMinor: this.#part(seen.amountMinor), accountNumber: `ACC${seen.name}` }
      case 'resolve':
      case 'reopen':
        return { reason: text }
      default:
        return {}
    }
  }

  /** Pays a withdrawal like an operator: claims it, pays it at the bank, and completes it. */
  async pay(): Promise<void> {
    const user = this.random.chance(0.7) ? this.user('operator') : this.user('approver')
    const transfer = this.transfer(({ kind, status }) => kind === 'withdrawal' && status !== 'Completed')
    if (!transfer) return
    const { trackingId } = transfer
    let seen = await this.show(user, trackingId)
    if (seen?.actions.includes('claim')) await this.take(user, seen, 'claim')
    seen = await this.show(user, trackingId)
    if (!seen?.claim?.mine || !seen.actions.includes('complete') || !this.#payAtBank(seen, user)) return
    for (let i = 0; i < 8; i++) {
      const completed = await this.take(user, seen, 'complete')
      if (completed) return
      await scheduler.sleep(200 + this.random.below(400))
      const now = await this.show(user, trackingId)
      if (now && !now.actions.includes('complete')) return
      seen = now ?? seen
    }
  }

  /** Returns whether the user has paid. A user who is about to release a withdrawal does not pay it. */
  #payAtBank({ trackingId, amountMinor }: Detail, { userId }: SimulatedUser): boolean {
    if (this.#leaving.has(`${trackingId} ${userId}`)) return false
    const { bank } = this.world
    const before = bank.find((payment) => payment.trackingId === trackingId)
    // The same person remembers it.
    if (before?.by === userId || before?.isKnown) return true
    must('one-payout', !before, () => `${userId} pays ${trackingId}, which ${before?.by} has paid`)
    bank.push({ trackingId, amountMinor, by: userId, isKnown: false })
    this.world.note(`the bank pays ${trackingId}`)
    return true
  }

  /** Makes a bank file of the payable withdrawals, which the bank pays, and completes them. */
  async payByFile(): Promise<void> {
    const user = this.user('operator')
    const payable = [...this.world.model.transfers.values()].filter(
      (each) => each.kind === 'withdrawal' && each.status === 'Pending',
    )
    const trackingIds = payable.slice(-3).map(({ trackingId }) => trackingId)
    if (trackingIds.length === 0) return
    const claimed: string[] = []
    for (const trackingId of trackingIds) {
      const seen = await this.show(user, trackingId)
      if (seen?.actions.includes('claim')) await this.take(user, seen, 'claim')
      if (seen?.claim?.mine || seen?.actions.includes('claim')) claimed.push(trackingId)
    }
    if (claimed.length === 0) return
    let response: LightMyRequestResponse | undefined
    let repeat: { readonly reason: string; readonly files: readonly string[] } | undefined
    for (let i = 0; i < 3 && response?.statusCode !== 200; i++) {
      const body = { format: 'csv', trackingIds: claimed, ...(repeat && { repeat }) }
      response = await this.dashboard(user, 'POST', '/withdrawals/bank-file', body)
      if (response && response.statusCode < 500) break
      // The bank never receives a file whose download failed.
      const files: string[] = []
      for (const trackingId of claimed) files.push((await this.show(user, trackingId))?.bankFile?.messageId ?? '')
      const known = files.filter((file) => file !== '')
      if (known.length > 0) repeat = { reason: 'the download failed', files: [...new Set(known)] }
    }
    if (response?.statusCode !== 200) return
    for (const trackingId of claimed) {
      if (!response.body.includes(trackingId)) continue
      const seen = await this.show(user, trackingId)
      if (!seen?.claim?.mine || !this.#payAtBank(seen, user)) continue
      if (seen.actions.includes('complete') && this.random.chance(0.8)) await this.take(user, seen, 'complete')
    }
  }

  /** Pays a deposit from the wallet, like a customer. */
  async payFromWallet(): Promise<void> {
    const { world, random } = this
    const transfer = this.transfer(
      (each) => each.kind === 'deposit' && each.paymentMethod === 1 && each.status === 'Pending',
    )
    const merchant = world.base.merchants.find(({ id }) => id === transfer?.merchantId)
    if (!transfer || !merchant) return
    const { trackingId } = transfer
    const ask = async (url: string, body: object) => {
      const headers = { webapikey: merchant.webApiKey, 'content-type': 'application/json-patch+json' }
      const response = await world.request({
        method: 'POST',
        url,
        headers,
        payload: JSON.stringify({ trackingId, ...body }),
      })
      return response?.json<{ success: boolean; result: { token?: string; next_step?: string } | string | null }>()
    }
    const known = new Set(world.wallet.codes.keys())
    const loggedIn = await ask(walletPaths.logIn, { userName: walletEmail, password: walletPassword })
    if (!loggedIn?.success) return
    const challenge = [...world.wallet.codes.keys()].find((id) => !known.has(id))
    const code = challenge === undefined ? undefined : world.wallet.codes.get(challenge)
    if (code === undefined) return
    const verified = await ask(walletPaths.code, { token: loggedIn.result, code: random.chance(0.9) ? code : '000000' })
    if (!verified?.success || typeof verified.result !== 'object' || verified.result?.next_step === 'Completed') return
    const { token } = verified.result!
    const url = world.wallet.confirmUrls.at(-1)
    if (url) await world.request({ method: 'POST', url: new URL(url).pathname, headers: { origin } })
    for (let i = 0; i < 4; i++) {
      const checked = await ask(walletPaths.device, { token })
      if (checked?.success) return
      await scheduler.sleep(1_000)
    }
  }

  /** Reads something with the key of a merchant. */
  ask(merchant: SimulatedMerchant, url: string) {
    return this.world.request({ url, headers: { webapikey: merchant.webApiKey } })
  }

  /** Reads the lists of a merchant, and tries to read and change a transfer of a different one. */
  async read(): Promise<void> {
    const { world, random } = this
    const merchant = random.pick(world.base.merchants)
    const get = (url: string) => this.ask(merchant, url)
    const foreign = this.transfer(({ merchantId }) => merchantId !== merchant.id)
    if (foreign) {
      for (const path of ['', '/events']) {
        const response = await get(`/v1/transfers/${foreign.trackingId}${path}`)
        const isHidden = !response || response.statusCode >= 400
        must('merchant-isolation', isHidden, () => `${merchant.id} reads ${foreign.trackingId}: ${response?.body}`)
      }
      const tried = await world.request({
        method: 'POST',
        url: `/v1/${foreign.kind}s/${foreign.trackingId}/${foreign.kind === 'deposit' ? 'receive' : 'claim'}`,
        headers: { webapikey: merchant.settlementKey, 'content-type': 'application/json' },
        payload: JSON.stringify({
          revision: foreign.statuses.length - 1,
          ...(foreign.kind === 'deposit' && { amount: 1, reference: 'X' }),
        }),
      })
      must(
        'merchant-isolation',
        !tried || tried.statusCode >= 400,
        () => `${merchant.id} changes ${foreign.trackingId}`,
      )
    }
    for (const path of ['/v1/transfers?limit=50', '/v1/events?limit=50', '/v1/callbacks?limit=50']) {
      const response = await get(path)
      if (response?.statusCode !== 200) continue
      for (const { trackingId } of response.json<{ items: { trackingId: string }[] }>().items) {
        const owner = world.model.transfers.get(trackingId)?.merchantId
        must('merchant-isolation', owner === merchant.id, () => `${path} of ${merchant.id} contains ${trackingId}`)
      }
    }
  }

  /** Looks at the pages of an auditor, and creates a package. The contents of the pages are compared with the log when everything has settled. */
  async audit(): Promise<void> {
    const auditor = this.user('auditor')
    const transfer = this.transfer()
    const day = '2026-03-02'
    const paths = [
      `/statement?from=${day}T00:00:00Z&to=2026-03-03T00:00:00Z`,
      `/overview?from=${day}T00:00:00Z&to=2026-03-03T00:00:00Z`,
      '/audit/integrity',
      '/operations/stuck',
    ]
    await this.dashboard(auditor, 'GET', this.random.pick(paths))
    if (!transfer) return
    const at = new Date(scheduler.wallMs()).toISOString()
    await this.dashboard(auditor, 'GET', `/transfers/${transfer.trackingId}/story`)
    await this.dashboard(auditor, 'GET', `/audit/state?of=transfer&id=${transfer.trackingId}&at=${at}`)
    await this.dashboard(auditor, 'GET', `/search?text=${canaryOf(this.random.pick(customers))}`)
    await this.#createEvidence(auditor, transfer.trackingId)
  }

  async #createEvidence(auditor: SimulatedUser, trackingId: string): Promise<void> {
    const response = await this.dashboard(auditor, 'POST', `/audit/evidence/${trackingId}`, {})
    if (response?.statusCode !== 200) return
    const sha256 = createHash('sha256').update(response.rawPayload).digest('hex')
    const isRecorded = this.world.model.events.some(
      ({ type, data }) => type === 'EvidencePackageCreated' && data.trackingId === trackingId && data.sha256 === sha256,
    )
    must('nothing-lost', isRecorded, () => `the evidence package ${sha256} of ${trackingId} is not in the log`)
  }

  async changeSettings(): Promise<void> {
    const { random, world } = this
    const [administrator, confirming] = world.users.filter(({ role }) => role === 'administrator')
    const { id } = random.pick(world.base.merchants)
    const path = `/merchants/${id}`
    const found = await this.dashboard(administrator!, 'GET', path)
    if (found?.statusCode !== 200) return
    const { revision } = found.json<{ revision: number }>()
    const change = random.pick([
      { approvalAboveMinor: random.pick([50_00, 500_00, null]) },
      { manualControlAboveMinor: random.pick([90_00, null]) },
      { mismatchToleranceMinor: random.pick([0, 50_00]) },
      { callbackOnCreate: random.chance(0.5) },
      { callbackOnMoney: random.chance(0.5) },
      { autoCancelMismatch: random.chance(0.5) },
      'suspend',
      'resume',
    ])
    if (typeof change === 'string') {
      await this.dashboard(administrator!, 'POST', `${path}/${change}`, {})
      if (change === 'suspend') await this.dashboard(administrator!, 'POST', `${path}/resume`, {})
      return
    }
    await this.dashboard(administrator!, 'PATCH', path, { revision, ...change })
    const proposed = await this.dashboard(confirming!, 'GET', path)
    if (proposed?.statusCode !== 200) return
    const seen = proposed.json<{ revision: number }>().revision
    await this.dashboard(confirming!, 'POST', `${path}/confirm-threshold`, { revision: seen })
  }

  async rebuild(): Promise<void> {
    const operations = this.user('operations')
    const { random } = this
    const name = random.pick(['transfers', 'totals', 'transfer-events', 'callbacks'])
    if (random.chance(0.3)) await this.dashboard(operations, 'POST', '/operations/projections/rebuild', {})
    else await this.dashboard(operations, 'POST', `/operations/projections/${name}/rebuild`, {})
  }

  async resend(): Promise<void> {
    const { random, world } = this
    const { id } = random.pick(world.base.merchants)
    await this.dashboard(this.user('operations'), 'POST', '/callbacks/resend', {
      merchantId: id,
      parkedSince: '2026-01-01T00:00:00Z',
    })
    await this.dashboard(this.user('operations'), 'POST', `/merchants/${id}/endpoint/enable`, {})
  }

  /** Resumes merchants, and enables the endpoints that a response has disabled, as people do after a repair. */
  async repair(): Promise<void> {
    const operations = this.user('operations')
    for (const { id } of this.world.base.merchants) {
      await this.dashboard(this.user('administrator'), 'POST', `/merchants/${id}/resume`, {})
      let enabled: LightMyRequestResponse | undefined
      for (let i = 0; i < 3 && enabled?.statusCode !== 200; i++)
        enabled = await this.dashboard(operations, 'POST', `/merchants/${id}/endpoint/enable`, {})
      must('settles', enabled?.statusCode === 200, () => `the endpoint is not enabled: ${enabled?.body}`)
      await this.dashboard(operations, 'POST', '/callbacks/resend', {
        merchantId: id,
        parkedSince: '2026-01-01T00:00:00Z',
      })
    }
  }

  async erase(): Promise<void> {
    const { random, world } = this
    const transfer = this.transfer()
    const sent =
      transfer &&
      this.sent.find(
        ({ referenceId, merchant }) => referenceId === transfer.referenceId && merchant.id === transfer.merchantId,
      )
    if (!sent) return
    const { userId } = JSON.parse(sent.body) as { userId: string }
    const customer = userId.slice('customer-'.length)
    // No client creates another transfer of the customer, which would bring the data back.
    this.erasing.add(customer)
    await scheduler.sleep(3_000)
    const administrator = random.pick(world.users.filter(({ role }) => role === 'administrator'))
    let isDone = true
    for (const { id: merchantId } of world.base.merchants) {
      const body = { merchantId, userId, reason: 'requested by the customer' }
      let response: LightMyRequestResponse | undefined
      for (let i = 0; i < 8 && (!response || response.statusCode >= 500); i++) {
        response = await this.dashboard(administrator, 'POST', '/privacy/erase', body)
        if (response?.statusCode !== 200) await scheduler.sleep(random.below(600))
      }
      // 404: the merchant has no such customer, or the erasure was interrupted and is finished now.
      if (response?.statusCode !== 200 && response?.statusCode !== 404) isDone = false
    }
    if (isDone) this.world.erased.add(customer)
    else this.isInterrupted = true
  }
}

interface Detail {
  readonly trackingId: string
  readonly revision: number
  readonly status: string
  readonly kind: string
  readonly name: string
  readonly paymentMethod: number
  readonly amountMinor: number
  readonly receivedMinor: number
  readonly returnedMinor: number
  readonly heldMinor?: number
  readonly claim: { readonly mine: boolean } | null
  readonly bankFile: { readonly messageId: string } | null
  readonly actions: readonly string[]
  readonly refunds?: readonly { readonly refundId: string; readonly state: string }[]
  readonly proposedCorrection?: { readonly amountMinor: number } | null
}
