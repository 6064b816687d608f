import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

/** What a page did that it must not. */
export interface Watched {
  readonly page: Page
  readonly problems: string[]
}

const timeoutMs = 60_000

/** Violations that the console would not name. */
const tellViolations = `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  console.error('Content Security Policy: ' + violatedDirective + ' ' + blockedURI))`

/** A browser of its own for one person, closed after the test; `problems` are gathered as they come. */
export async function openContext(
  t: { teardown(work: () => unknown): unknown },
  browser: Browser,
  problems: string[],
  options: BrowserContextOptions,
): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  context.setDefaultTimeout(timeoutMs)
  t.teardown(() => context.close())
  await context.addInitScript(tellViolations)
  context.on('request', (request) => {
    if (!/^(http:\/\/(127\.0\.0\.1|localhost):|blob:|data:)/.test(request.url()))
      problems.push(`asked ${request.url()}`)
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
    // Refusals that a page asks for and handles are written there, too.
    if (['warning', 'error'].includes(message.type()) && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text())
  })
}

/** Waits for what an expression in the page says; the page's policy forbids Playwright's own way of asking. */
export async function until(page: Page, expression: string): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await page.evaluate(expression))) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${expression}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
