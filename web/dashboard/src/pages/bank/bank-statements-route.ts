import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'
import { pickSearch } from '../../app/search-params'

export interface BankSearch {
  /** `all`: also payments that someone has decided about. `statements`: the imported statements. Defaults to the open payments. */
  readonly show?: string | undefined
  readonly account?: string | undefined
  /** The first and the last day, such as 2026-11-21. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** The only payment that is shown. */
  readonly payment?: string | undefined
}

export const bankStatementsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/bank-statements',
  staticData: { needs: 'transfers:read' },
  validateSearch: (search: Record<string, unknown>): BankSearch =>
    pickSearch(search, ['show', 'account', 'from', 'to', 'payment']),
  component: lazyPage(pageFiles['/bank-statements'], 'BankStatementsPage'),
})
