import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { pagesRoute } from '../../app/root'

export const merchantsRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/merchants',
  staticData: { needs: 'merchants:read' },
  component: lazyRouteComponent(() => import('./MerchantsPage'), 'MerchantsPage'),
})

export const merchantRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/merchants/$merchantId',
  staticData: { needs: 'merchants:read' },
  component: lazyRouteComponent(() => import('./MerchantPage'), 'MerchantPage'),
})
