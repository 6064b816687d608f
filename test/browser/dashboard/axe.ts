import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const run = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations, passes }) => {
  const { scrollWidth, clientWidth } = document.documentElement
  return [
    ...violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' at ' + target.join(' ') + ': ' + failureSummary)),
    ...(passes.length < 10 ? ['too few elements to check'] : []),
    ...(scrollWidth > clientWidth ? ['wider than the screen: ' + scrollWidth + ' of ' + clientWidth] : []),
  ]
})`

/** Returns the faults that axe finds in the current page, and whether the page scrolls sideways. */
export async function faultsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate('Boolean(window.axe)'))) await page.evaluate(axe)
  return page.evaluate(run)
}
