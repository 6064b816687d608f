import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'
import { transfersSearch } from './list-search'

export const depositsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/deposits',
  staticData: { needs: 'transfers:read' },
  validateSearch: transfersSearch,
  component: lazyPage(pageFiles['/deposits'], 'DepositsPage'),
})

export const withdrawalsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/withdrawals',
  staticData: { needs: 'transfers:read' },
  validateSearch: transfersSearch,
  component: lazyPage(pageFiles['/withdrawals'], 'WithdrawalsPage'),
})
