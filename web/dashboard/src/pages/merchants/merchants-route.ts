import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pagesRoute } from '../../app/root'

export const merchantsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/merchants',
  staticData: { needs: 'merchants:read' },
  component: lazyPage(() => import('./MerchantsPage'), 'MerchantsPage'),
})

export const merchantRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/merchants/$merchantId',
  staticData: { needs: 'merchants:read' },
  component: lazyPage(() => import('./MerchantPage'), 'MerchantPage'),
})
