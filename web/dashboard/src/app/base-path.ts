/** The path of the dashboard: `/dashboard`, after the path of PUBLIC_URL. The server writes it into the page. */
export const basePath =
  document.querySelector<HTMLMetaElement>('meta[name="base-path"]')?.content.replace(/\/$/, '') || '/dashboard'
