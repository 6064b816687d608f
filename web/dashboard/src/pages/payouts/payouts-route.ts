import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'
import { pickSearch } from '../../app/search-params'

interface PayoutsSearch {
  readonly tab?: string | undefined
  /** The withdrawal that fills the screen of a phone. */
  readonly sheet?: string | undefined
}

export const payoutsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/pay',
  staticData: { needs: 'transfers:settle' },
  validateSearch: (search: Record<string, unknown>): PayoutsSearch => pickSearch(search, ['tab', 'sheet']),
  component: lazyPage(pageFiles['/pay'], 'PayoutsPage'),
})
