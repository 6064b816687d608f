import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../../app/lazy-page'
import { pageFiles } from '../../app/page-files'
import { pagesRoute } from '../../app/root'

/** For developers. No page links to it, and its code loads only here. */
export const galleryRoute = createRoute({
  getParentRoute: () => pagesRoute,
  path: '/__components',
  staticData: { needs: 'account:own' },
  component: lazyPage(pageFiles['/__components'], 'GalleryPage'),
})
