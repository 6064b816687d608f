import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { CallbackDelivery, CallbackEndpoint, HistoryEvent } from '@transferd/client'
import { type Currency, currencyOf, formatAmount, formatWithCode, toJsonNumber } from '../domain/money.js'
import { type Scenario, type ScenarioName, scenarioReference, scenarios } from '../domain/scenarios.js'
import { escapeHidden } from '../kernel/text.js'
import { Refused } from './failures.js'
import { type Access, MerchantApi } from './merchant-api.js'
import { eventName } from './names.js'
import { exactTime, shortId } from './readable.js'

interface TriggerOptions {
  readonly amount: bigint | undefined
  readonly paymentMethod: number | undefined
}

/** An event of the transfer. */
type Step = Pick<HistoryEvent, 'at' | 'type' | 'actor'>

/** The document that `--json` prints. */
interface Played {
  readonly scenario: ScenarioName
  readonly trackingId: string
  readonly referenceId: string
  readonly amount: number
  readonly steps: readonly Step[]
  readonly callbacks: readonly {
    readonly webhookId: string
    readonly statusDescription: string
    readonly transactionAmount: number
    readonly hasAmountMismatch: boolean
    readonly status: string
  }[]
}

const pollMs = 250
/** Far more than the longest time between two steps of a scenario, because the service may wait for the log. */
const stepWithinMs = 20_000
/** The service records and sends callbacks within milliseconds, unless it is busy. */
const callbacksWithinMs = 5_000
/** The receiver of the payouts of the scenarios. It is an example of the IBAN standard. */
const accountNumber = 'DE89370400440532013000'
const statusChanges = /^Transfer(Completed|Cancelled|Failed|SentToManualControl|Reopened)$/

/**
 * Creates the transfer of a scenario as a merchant's program does, and follows it to its end. `show` receives each step as it happens, as text.
 * @throws Refused for a live merchant, before anything is created, and if the transfer does not reach the end of the scenario
 */
export async function trigger(
  name: ScenarioName,
  access: Access,
  options: TriggerOptions,
  show: (text: string) => void,
): Promise<Played & { readonly text: string }> {
  const scenario: Scenario = scenarios[name]
  const { kind, ends } = scenario
  const api = new MerchantApi(access)
  const merchant = await api.getMerchant()
  if (!merchant.sandbox)
    throw new Refused('live-merchant', 'Only sandbox merchants have scenarios. No transfer was created.')
  const currency = currencyOf(merchant.currency) as Currency
  const amountMinor = options.amount ?? amountOf(scenario, currency)
  const referenceId = scenarioReference(name, randomUUID().replaceAll('-', '').slice(-12))
  const trackingId = await create(api, access, { ...options, scenario, referenceId, amountMinor, currency })
  show(`${kind} of ${formatWithCode(currency, amountMinor)}, reference ${referenceId}\n`)

  const steps: Step[] = []
  const readSteps = async () => {
    const { items } = await api.getTransferEvents(trackingId)
    for (const { at, type, actor } of items.slice(steps.length)) {
      steps.push({ at, type, actor })
      show(`  ${exactTime(at, 'milliseconds')}  ${eventName(type)}, by ${escapeHidden(actorText(actor))}\n`)
    }
    return steps.some(({ type }) => (ends as readonly string[]).includes(type))
  }
  const isOver = await within(stepWithinMs, readSteps, () => steps.length)
  const changes = steps.filter(({ type }) => statusChanges.test(type)).length
  let callbacks: readonly CallbackDelivery[] = []
  const endpoint = await api.getCallbackEndpoint()
  const readCallbacks = async () => {
    callbacks = (await api.getTransferCallbacks(trackingId)).items
    const areSent = endpoint.state === 'disabled' || callbacks.every(({ status }) => status !== 'waiting')
    // A merchant can have a callback for the creation, too.
    return callbacks.filter(({ transferRevision }) => transferRevision > 0).length >= changes && areSent
  }
  await within(callbacksWithinMs, readCallbacks)
  if (!isOver) {
    const reason = 'its merchant has settings that change it, or the service was stopped'
    throw new Refused('scenario-unfinished', `transfer ${trackingId} did not reach the end of the scenario: ${reason}`)
  }
  const sent = callbacks.map(({ webhookId, status, payload }) => {
    const { statusDescription, transactionAmount, hasAmountMismatch } = payload
    return { webhookId, statusDescription, transactionAmount: Number(transactionAmount), hasAmountMismatch, status }
  })
  const document = {
    scenario: name,
    trackingId,
    referenceId,
    amount: toJsonNumber(amountMinor),
    steps,
    callbacks: sent,
  }
  return { ...document, text: textOf(document, currency, endpoint) }
}

/** Returns the amount of a scenario, without decimals if the currency has none. The reference then chooses the scenario. */
function amountOf({ amountMinor }: Scenario, { decimals }: Currency): bigint {
  return decimals === 0 ? amountMinor - (amountMinor % 100n) : amountMinor
}

interface Creation extends TriggerOptions {
  readonly scenario: Scenario
  readonly referenceId: string
  readonly amountMinor: bigint
  readonly currency: Currency
}

/** Returns the trackingId. */
async function create(api: MerchantApi, { secretKey }: Access, creation: Creation): Promise<string> {
  if (secretKey === undefined)
    throw new Refused('no-access', 'creating a transfer requires the SecretKey: --secret-key or TRANSFERD_SECRET_KEY')
  const { scenario, referenceId, amountMinor, currency, paymentMethod = 1 } = creation
  const amount = formatAmount(currency, amountMinor)
  const fields = { userId: '42', name: 'Ada Lovelace', username: 'ada', referenceId, paymentMethod, amount }
  const isDeposit = scenario.kind === 'deposit'
  const created = isDeposit ? api.createHostedDeposit(fields) : api.createWithdrawal({ ...fields, accountNumber })
  return (await created).trackingId
}

/** Repeats `read` until it returns true. Returns false if it does not in time, which starts again whenever `progress` changes. */
async function within(ms: number, read: () => Promise<boolean>, progress = () => 0): Promise<boolean> {
  let deadline = performance.now() + ms
  for (;;) {
    const before = progress()
    if (await read()) return true
    if (progress() !== before) deadline = performance.now() + ms
    if (performance.now() > deadline) return false
    await delay(pollMs)
  }
}

function actorText(actor: string): string {
  const [kind, part = ''] = actor.split(':')
  return kind === 'system' ? `the service (${part})` : `the ${kind}`
}

function textOf({ trackingId, callbacks }: Played, currency: Currency, { state, reason }: CallbackEndpoint): string {
  const lines = callbacks.map(({ webhookId, statusDescription, transactionAmount, hasAmountMismatch, status }) => {
    const money = `${transactionAmount.toFixed(currency.decimals)} ${currency.code}${hasAmountMismatch ? ' (mismatch)' : ''}`
    return `  ${statusDescription}, ${money}: ${status} (callback ${shortId(webhookId)})`
  })
  // A listener receives them anyway.
  const why = state === 'disabled' ? ` (the endpoint is disabled: ${escapeHidden(reason ?? '')})` : ''
  return `Callbacks${why}:\n${lines.join('\n')}\nTransfer ${trackingId}\n`
}
