import type { Page } from 'playwright-core'
import type { Role } from '../../../src/domain/user/permissions.js'
import { until } from '../watched-page.js'
import type { Dashboard } from './dashboard-service.js'
import { createEveryState } from './transfer-states.js'

/** Creates transfers in every state, and returns every page of the dashboard with a role that sees the most of it. */
export async function createEveryPage(world: Dashboard) {
  const states = await createEveryState(world)
  const { shop, as } = world
  const { body } = await (await as('administrator')).get<{ items: { userId: string }[] }>('/users')
  const pages: readonly (readonly [Role, string])[] = [
    ['approver', '/'],
    ['approver', '/deposits'],
    ['approver', '/withdrawals?status=Pending'],
    ['approver', '/pay'],
    ['approver', `/transfers/${states.late}`],
    ['approver', `/transfers/${states.claimed}`],
    ['approver', `/transfers/${states.mismatch}`],
    ['approver', '/bank-statements'],
    ['approver', '/reconciliation'],
    ['administrator', '/callbacks'],
    ['administrator', '/callbacks?view=live'],
    ['administrator', '/merchants'],
    ['administrator', `/merchants/${shop.id}`],
    ['administrator', '/users'],
    ['administrator', `/users/${body.items[0]!.userId}`],
    ['administrator', `/statement?merchantId=${shop.id}`],
    ['operations', '/operations'],
    ['auditor', `/audit?view=story&id=${states.completed}`],
    ['auditor', `/audit?view=merchant&merchantId=${shop.id}`],
    ['auditor', `/audit?view=user&id=${body.items[0]!.userId}`],
    ['auditor', '/audit?view=actions'],
    ['administrator', '/audit?view=integrity'],
    ['auditor', '/audit?view=export'],
    ['administrator', '/privacy'],
    ['viewer', '/account'],
    ['viewer', '/users'],
    ['viewer', '/nothing-here'],
    ['administrator', '/__components'],
  ]
  return { pages, states }
}

/** Waits until the page has loaded all its data, and the choice of columns, which is loaded after it. The page of components always shows the loading state too. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  if (page.url().endsWith('/__components')) return
  await until(page, "document.querySelector('.Loading, .DataTable-choice > span') === null")
}
