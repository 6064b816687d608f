import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const run = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations, passes }) => {
  const { scrollWidth, clientWidth } = document.documentElement
  return [
    ...violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' at ' + target.join(' ') + ': ' + failureSummary)),
    ...(passes.length < 10 ? ['there was hardly anything to judge'] : []),
    ...(scrollWidth > clientWidth ? ['wider than the screen: ' + scrollWidth + ' of ' + clientWidth] : []),
  ]
})`

/** What axe finds wrong with the page as it is now, and whether it has to be scrolled sideways. */
export async function faultsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate('Boolean(window.axe)'))) await page.evaluate(axe)
  return page.evaluate(run)
}
