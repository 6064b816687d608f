import { typedCode, typedEmail } from '../../src/kernel/typed-text.js'
import { setSecondsLeft, startClock, stopClock } from './clock.js'
import { addCopyButtons } from './copy-buttons.js'
import { data, duration, element, locale, type PageState, type Phase, text } from './page-data.js'
import { notifyParent } from './parent-page.js'
import { type Next, type Refused, readState, sendStep } from './requests.js'
import { savedProgress, saveProgress } from './saved-progress.js'
import { StepForm } from './step-form.js'

type Step = 'login' | 'code' | 'device'

const devicePollMs = 2_000
const statePollMs = 10_000
const sixDigits = /^\d{6}$/
/** After these failures the customer has to sign in again. */
const restartReasons = ['codeExpired', 'tooManyCodes', 'deviceExpired', 'insufficientBalance', 'accountBlocked']

let phase: Phase = data.state.phase
let status = data.state.status
let shown: Step | undefined
/** Removes the message that there is no connection, while it is shown. */
let clearOffline: (() => void) | undefined
/** Aborted when a different step is shown. */
let stepEnd = new AbortController()

if (phase === 'open') {
  setSecondsLeft(data.state.secondsLeft)
  startClock(() => void refresh())
  if (data.isManual) addCopyButtons()
  else showStep(savedProgress()?.step ?? 'login', { focus: false })
} else {
  saveProgress(undefined)
  if (phase === 'paid') showPaidAt(data.state)
}
notifyParent(status)
setInterval(() => {
  // A payment in progress may take longer than the time to pay.
  if (!document.hidden && (status === 'Pending' || status === 'ManualControl')) void refresh()
}, statePollMs)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void refresh()
})
addEventListener('online', () => void refresh())
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) void refresh()
})

/** Shows the state recorded in the log, because another tab, the merchant or the expiry may have ended the payment. */
async function refresh(): Promise<void> {
  const state = await readState()
  if ('reason' in state) {
    if (state.reason === 'over') location.reload()
    return
  }
  // The service responds again, so that the message about the connection is no longer true.
  clearOffline?.()
  clearOffline = undefined
  apply(state)
}

function apply(state: PageState): void {
  if (state.status !== status) notifyParent(state.status)
  status = state.status
  if (state.phase === 'open') setSecondsLeft(state.secondsLeft)
  // Another part of the amount has arrived, and the page names the missing rest.
  if (state.phase === 'open' && state.received !== data.state.received) location.reload()
  if (state.phase === phase) return
  phase = state.phase
  saveProgress(undefined)
  // The page comes from a cache, or the deposit ended so long ago that it is no longer shown.
  if (phase === 'open' || phase === 'ended') {
    location.reload()
    return
  }
  stopClock()
  const heading = showTemplate(phase)
  if (phase === 'paid') fillInResult(state)
  heading.focus()
}

function fillInResult(state: PageState): void {
  const { paid, accountDigits, hasAmountMismatch, receiptUrl } = state
  showPaidAt(state)
  if (accountDigits !== null) {
    const account = element('account')
    account.hidden = false
    account.querySelector('dd')!.textContent = text('accountEnding', { digits: accountDigits })
  }
  const line = element('paid')
  line.textContent = (line.textContent ?? '').replace('{paid}', paid ?? '')
  element('mismatch').hidden = !hasAmountMismatch
  const receipt = element('receipt')
  receipt.hidden = receiptUrl === null
  if (receiptUrl !== null) receipt.querySelector('a')?.setAttribute('href', receiptUrl)
}

/** Shows the time of the payment in the customer's time zone. */
function showPaidAt({ paidAt }: PageState): void {
  if (paidAt === null) return
  const shown = element('paid-at') as HTMLTimeElement
  shown.dateTime = paidAt
  shown.textContent = new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date(paidAt),
  )
}

/** Shows the template of a step or phase, and returns its heading. */
function showTemplate(name: Step | Phase): HTMLElement {
  stepEnd.abort()
  stepEnd = new AbortController()
  const template = element(`step-${name}`) as HTMLTemplateElement
  element('step').replaceChildren(template.content.cloneNode(true))
  const heading = element('step').querySelector('h2') as HTMLElement
  const title = document.querySelector('h1')?.textContent
  document.title = `${heading.textContent} – ${title} · ${data.installationName}`
  return heading
}

function showStep(step: Step, { focus = true, failure = '' } = {}): void {
  const heading = showTemplate(step)
  shown = step
  const form = new StepForm(element('step').querySelector('form') as HTMLFormElement)
  element('step')
    .querySelector('[data-go=login]')
    ?.addEventListener('click', () => restart())
  if (step === 'login') prepareLogin(form)
  else if (step === 'code') prepareCode(form)
  else prepareDevice(form)
  // The code is what the customer has at hand, so that it can be typed immediately.
  if (step === 'code') form.field('code').focus()
  else if (focus) heading.focus()
  if (failure) form.showFailure(failure)
}

function restart(failure = ''): void {
  saveProgress(undefined)
  showStep('login', { failure })
}

function prepareLogin(form: StepForm): void {
  const [email, password, show] = [form.field('email'), form.field('password'), form.field('show')]
  show.addEventListener('change', () => {
    password.type = show.checked ? 'text' : 'password'
  })
  form.onSubmit(async () => {
    const [address, digits] = [typedEmail(email.value), typedCode(password.value)]
    const problems = [
      ...(/^\S+@\S+$/.test(address) ? [] : [{ field: 'email', problem: text('emailMissing') }]),
      ...(sixDigits.test(digits) ? [] : [{ field: 'password', problem: text('passwordMissing') }]),
    ]
    if (form.showErrors(problems)) return
    const result = await sendStep('login', { email: address, password: digits })
    if (!('reason' in result)) return proceed(result)
    await explain(form, result)
    if (result.reason !== 'wrongLogin' || shown !== 'login') return
    password.value = ''
    password.focus()
  })
}

function prepareCode(form: StepForm): void {
  const code = form.field('code')
  form.onSubmit(async () => {
    const digits = typedCode(code.value)
    if (!sixDigits.test(digits)) {
      form.showErrors([{ field: 'code', problem: text('codeMissing') }])
      return
    }
    const result = await sendStep('code', { token: savedProgress()?.token ?? '', code: digits })
    if (!('reason' in result)) {
      await proceed(result)
      if (result.next === 'wait' && phase === 'open') form.showFailure(text('inProgress'))
      return
    }
    if (result.reason !== 'wrongCode') return explain(form, result)
    form.showErrors([{ field: 'code', problem: text('wrongCode') }])
    code.select()
  })
}

function prepareDevice(form: StepForm): void {
  const { signal } = stepEnd
  const check = async (isRequested: boolean) => {
    const result = await sendStep('device', { token: savedProgress()?.token ?? '' })
    if (signal.aborted) return
    if ('reason' in result) {
      // The next poll may succeed, so temporary failures are shown only if the customer pressed the button.
      if (isRequested || restartReasons.includes(result.reason) || result.reason === 'over') await explain(form, result)
    } else if (result.next !== 'wait') await proceed(result)
    else if (isRequested) form.showFailure(text('devicePending'))
  }
  const poll = async () => {
    await check(false)
    if (!signal.aborted) setTimeout(() => !signal.aborted && void poll(), devicePollMs)
  }
  setTimeout(() => !signal.aborted && void poll(), devicePollMs)
  form.onSubmit(() => check(true))
}

async function proceed({ next, token = '' }: Next): Promise<void> {
  switch (next) {
    case 'code':
    case 'device':
      saveProgress({ step: next, token })
      showStep(next)
      return
    case 'result':
    case 'wait':
      await refresh()
      return
    default:
      return next satisfies never
  }
}

/** Shows why a step failed and what to do next. */
async function explain(form: StepForm, { reason, retryAfterSeconds = 0 }: Refused): Promise<void> {
  if (reason === 'over' || reason === 'offline') await refresh()
  if (phase !== 'open') return
  const key = reason === 'codeExpired' && shown === 'device' ? 'deviceExpired' : reason
  const message = text(key === 'over' ? 'failure' : key, { time: duration(Math.max(1, retryAfterSeconds)) })
  if (restartReasons.includes(key)) restart(message)
  else form.showFailure(message)
  if (reason === 'offline') {
    clearOffline = () => form.clearErrors()
    retryWhileOffline()
  }
}

function retryWhileOffline(): void {
  setTimeout(async () => {
    await refresh()
    if (clearOffline) retryWhileOffline()
  }, devicePollMs)
}
