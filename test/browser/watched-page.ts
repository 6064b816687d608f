import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

/** A page with the errors and forbidden requests that it caused. */
export interface Watched {
  readonly page: Page
  readonly problems: string[]
}

const timeoutMs = 60_000

/** Logs policy violations that the console does not name. */
const logViolations = `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  console.error('Content Security Policy: ' + violatedDirective + ' ' + blockedURI))`

/** The addresses that pages may request: those of this machine. */
const onThisMachine = /^(http:\/\/(127\.0\.0\.1|localhost):|blob:|data:)/

/** Opens a separate browser context, which is closed after the test. Problems of its pages are appended to `problems`. */
export async function openContext(
  t: { teardown(work: () => unknown): unknown },
  browser: Browser,
  problems: string[],
  options: BrowserContextOptions,
  allowed = onThisMachine,
): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  context.setDefaultTimeout(timeoutMs)
  t.teardown(() => context.close())
  await context.addInitScript(logViolations)
  context.on('request', (request) => {
    if (!allowed.test(request.url())) problems.push(`requested ${request.url()}`)
  })
  context.on('page', (page) => watch(page, problems))
  return context
}

function watch(page: Page, problems: string[]): void {
  page.on('pageerror', (error) => problems.push(`threw ${error.message}`))
  page.on('response', (response) => {
    if (response.status() >= 500) problems.push(`${response.status()} ${response.url()}`)
  })
  page.on('console', (message) => {
    // The console also reports rejected requests that the page handles.
    if (['warning', 'error'].includes(message.type()) && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text())
  })
}

/** Waits until an expression in the page is truthy. Playwright's own wait is forbidden by the page's policy. */
export async function until(page: Page, expression: string): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await page.evaluate(expression))) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${expression}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
