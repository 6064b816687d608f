import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'
import { transfersSearch } from './list-search'

export const depositsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/deposits',
  staticData: { needs: 'transfers:read' },
  validateSearch: transfersSearch,
  component: lazyRouteComponent(() => import('./TransfersPage'), 'DepositsPage'),
})

export const withdrawalsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/withdrawals',
  staticData: { needs: 'transfers:read' },
  validateSearch: transfersSearch,
  component: lazyRouteComponent(() => import('./TransfersPage'), 'WithdrawalsPage'),
})
