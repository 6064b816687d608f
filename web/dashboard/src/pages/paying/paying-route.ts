import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'
import { pickSearch } from '../../app/search-params'

interface PayingSearch {
  readonly tab?: string | undefined
  /** The withdrawal that fills the screen of a phone. */
  readonly sheet?: string | undefined
}

export const payingRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/pay',
  staticData: { needs: 'transfers:settle' },
  validateSearch: (search: Record<string, unknown>): PayingSearch => pickSearch(search, ['tab', 'sheet']),
  component: lazyPage(pageFiles['/pay'], 'PayingPage'),
})
