import { setSecondsLeft, startClock, stopClock } from './clock.js'
import { data, duration, element, locale, type PageState, type Phase, text } from './page-data.js'
import { tellParent } from './parent-page.js'
import { type Next, type Refused, readState, take } from './requests.js'
import { savedProgress, saveProgress } from './saved-progress.js'
import { StepForm } from './step-form.js'

type Step = 'login' | 'code' | 'device'

const devicePollMs = 2_000
const statePollMs = 10_000
const sixDigits = /^\d{6}$/
/** After these the customer can only start over. */
const backToLogIn = ['codeExpired', 'tooManyCodes', 'deviceExpired', 'insufficientBalance', 'accountBlocked']

let phase: Phase = data.state.phase
let status = data.state.status
let shown: Step | undefined
/** Ended when another step is shown. */
let stepEnd = new AbortController()

if (phase === 'open') {
  setSecondsLeft(data.state.secondsLeft)
  startClock(() => void refresh())
  if (!data.isManual) showStep(savedProgress()?.step ?? 'login', { focus: false })
} else {
  saveProgress(undefined)
  if (phase === 'paid') showPaidAt(data.state)
}
tellParent(status)
setInterval(() => {
  // A payment in flight may outlast the time to pay.
  if (!document.hidden && (status === 'Pending' || status === 'ManualControl')) void refresh()
}, statePollMs)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void refresh()
})
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) void refresh()
})

/** The log decides what is shown: another tab, the merchant or the clock may have ended what this page began. */
async function refresh(): Promise<void> {
  const state = await readState()
  if ('reason' in state) {
    if (state.reason === 'over') location.reload()
    return
  }
  apply(state)
}

function apply(state: PageState): void {
  if (state.status !== status) tellParent(state.status)
  status = state.status
  if (state.phase === 'open') setSecondsLeft(state.secondsLeft)
  if (state.phase === phase) return
  phase = state.phase
  saveProgress(undefined)
  // A cached page, or one so old that nothing is shown any more.
  if (phase === 'open' || phase === 'ended') {
    location.reload()
    return
  }
  stopClock()
  const heading = showTemplate(phase)
  if (phase === 'paid') fillIn(state)
  heading.focus()
}

function fillIn(state: PageState): void {
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

/** By the customer's own clock. */
function showPaidAt({ paidAt }: PageState): void {
  if (paidAt === null) return
  const shown = element('paid-at') as HTMLTimeElement
  shown.dateTime = paidAt
  shown.textContent = new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date(paidAt),
  )
}

/** Shows what is prepared in the page under this name, and answers its heading. */
function showTemplate(name: Step | Phase): HTMLElement {
  stepEnd.abort()
  stepEnd = new AbortController()
  const template = element(`step-${name}`) as HTMLTemplateElement
  element('step').replaceChildren(template.content.cloneNode(true))
  const heading = element('step').querySelector('h2') as HTMLElement
  document.title = `${heading.textContent} – ${document.querySelector('h1')?.textContent}`
  return heading
}

function showStep(step: Step, { focus = true, trouble = '' } = {}): void {
  const heading = showTemplate(step)
  shown = step
  const form = new StepForm(element('step').querySelector('form') as HTMLFormElement)
  element('step')
    .querySelector('[data-go=login]')
    ?.addEventListener('click', () => beginAgain())
  if (step === 'login') prepareLogIn(form)
  else if (step === 'code') prepareCode(form)
  else prepareDevice(form)
  if (focus) heading.focus()
  if (trouble) form.trouble(trouble)
}

function beginAgain(trouble = ''): void {
  saveProgress(undefined)
  showStep('login', { trouble })
}

function prepareLogIn(form: StepForm): void {
  const [email, password, show] = [form.field('email'), form.field('password'), form.field('show')]
  show.addEventListener('change', () => {
    password.type = show.checked ? 'text' : 'password'
  })
  form.onSubmit(async () => {
    const digits = password.value.replace(/\s/g, '')
    const problems = [
      ...(/^\S+@\S+$/.test(email.value.trim()) ? [] : [{ field: 'email', problem: text('emailMissing') }]),
      ...(sixDigits.test(digits) ? [] : [{ field: 'password', problem: text('passwordMissing') }]),
    ]
    if (form.refuse(problems)) return
    const answer = await take('login', { email: email.value.trim(), password: digits })
    if (!('reason' in answer)) return goOn(answer)
    await explain(form, answer)
    if (answer.reason !== 'wrongLogin' || shown !== 'login') return
    password.value = ''
    password.focus()
  })
}

function prepareCode(form: StepForm): void {
  const code = form.field('code')
  form.onSubmit(async () => {
    // Typed or pasted as it stands in the message: `123 456`.
    const digits = code.value.replace(/[\s-]/g, '')
    if (!sixDigits.test(digits)) {
      form.refuse([{ field: 'code', problem: text('codeMissing') }])
      return
    }
    const answer = await take('code', { token: savedProgress()?.token ?? '', code: digits })
    if (!('reason' in answer)) {
      await goOn(answer)
      if (answer.next === 'wait' && phase === 'open') form.trouble(text('underWay'))
      return
    }
    if (answer.reason !== 'wrongCode') return explain(form, answer)
    form.refuse([{ field: 'code', problem: text('wrongCode') }])
    code.select()
  })
}

function prepareDevice(form: StepForm): void {
  const { signal } = stepEnd
  const check = async (asked: boolean) => {
    const answer = await take('device', { token: savedProgress()?.token ?? '' })
    if (signal.aborted) return
    if ('reason' in answer) {
      // The next poll may succeed, so passing trouble is shown only to a customer who asked.
      if (asked || backToLogIn.includes(answer.reason) || answer.reason === 'over') await explain(form, answer)
    } else if (answer.next !== 'wait') await goOn(answer)
    else if (asked) form.trouble(text('devicePending'))
  }
  const poll = async () => {
    await check(false)
    if (!signal.aborted) setTimeout(() => !signal.aborted && void poll(), devicePollMs)
  }
  setTimeout(() => !signal.aborted && void poll(), devicePollMs)
  form.onSubmit(() => check(true))
}

async function goOn({ next, token = '' }: Next): Promise<void> {
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

/** Says why a step did not work and what to do next. */
async function explain(form: StepForm, { reason, retryAfterSeconds = 0 }: Refused): Promise<void> {
  if (reason === 'over' || reason === 'offline') await refresh()
  if (phase !== 'open') return
  const why = reason === 'codeExpired' && shown === 'device' ? 'deviceExpired' : reason
  const said = text(why === 'over' ? 'trouble' : why, { time: duration(Math.max(1, retryAfterSeconds)) })
  if (backToLogIn.includes(why)) beginAgain(said)
  else form.trouble(said)
}
