// Runs in the page, and returns the accessibility faults that a program can detect.
;(() => {
  const faults = []
  const visible = (element) => {
    const { width, height } = element.getBoundingClientRect()
    return element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && width > 1 && height > 1
  }
  const describe = (element) =>
    `<${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ''} ${element.className}> "${(element.innerText ?? '').slice(0, 30)}"`

  // Colours and contrast (WCAG 1.4.3, 1.4.11)
  const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((each) => {
      const part = each / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const backgroundOf = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const [r, g, b, alpha = 1] = channels(getComputedStyle(each).backgroundColor)
      if (alpha === 1) return [r, g, b]
      if (alpha > 0) faults.push(`semi-transparent background cannot be checked: ${describe(each)}`)
    }
    return [255, 255, 255]
  }
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x)
    return (light + 0.05) / (dark + 0.05)
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  let checked = 0
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement
    if (!texts.currentNode.textContent.trim() || !visible(element) || element.closest('script, noscript')) continue
    const style = getComputedStyle(element)
    const size = Number.parseFloat(style.fontSize)
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    const ratio = contrast(channels(style.color), backgroundOf(element))
    if (ratio < (large ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)}: ${describe(element)}`)
    if (size < 12) faults.push(`text of ${size} px: ${describe(element)}`)
    checked++
  }
  if (checked < 4) faults.push('too little text to check')
  for (const input of document.querySelectorAll('input')) {
    if (!visible(input) || input.type === 'checkbox') continue
    const ratio = contrast(channels(getComputedStyle(input).borderTopColor), backgroundOf(input.parentElement))
    if (ratio < 3) faults.push(`border contrast ${ratio.toFixed(2)}: ${describe(input)}`)
  }

  // Names, roles, sizes, focus (1.3.1, 2.4.7, 2.5.8, 3.3.2, 4.1.2)
  for (const element of document.querySelectorAll('a, button, input, select, textarea, [tabindex]')) {
    if (!visible(element)) continue
    const labels = element.labels ? [...element.labels].map(({ innerText }) => innerText) : []
    const name = [element.getAttribute('aria-label'), ...labels, element.tagName === 'INPUT' ? '' : element.innerText]
    if (!name.join('').trim()) faults.push(`no name: ${describe(element)}`)
    for (const id of (element.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean)) {
      if (!document.getElementById(id)) faults.push(`missing description: ${id}`)
    }
    if (element.getAttribute('aria-invalid') && !element.getAttribute('aria-describedby')) {
      faults.push(`error without a description: ${describe(element)}`)
    }
    if (element.tagName === 'INPUT' && element.type !== 'checkbox' && !element.autocomplete) {
      faults.push(`no purpose (autocomplete): ${describe(element)}`)
    }
    if (element.tabIndex > 0) faults.push(`explicit tab order: ${describe(element)}`)
    const target = (element.type === 'checkbox' && element.closest('label')) || element
    const { width, height } = target.getBoundingClientRect()
    const inText = getComputedStyle(element).display === 'inline'
    if (element.tabIndex === 0 && !inText && Math.min(width, height) < 24)
      faults.push(`too small: ${describe(element)}`)
  }

  // The page (1.3.1, 2.4.2, 2.4.6, 3.1.1, 4.1.1)
  if (!document.documentElement.lang) faults.push('no language')
  if (!document.title) faults.push('no title')
  if (document.querySelectorAll('main').length !== 1) faults.push('there must be exactly one main element')
  if (document.querySelectorAll('h1').length !== 1) faults.push('there must be exactly one h1 element')
  const levels = [...document.querySelectorAll('h1, h2, h3')].filter(visible).map(({ tagName }) => Number(tagName[1]))
  if (levels.some((level, index) => level > (levels[index - 1] ?? 0) + 1))
    faults.push(`heading levels are skipped: ${levels}`)
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  for (const id of ids.filter((each, index) => ids.indexOf(each) !== index)) faults.push(`duplicate id: ${id}`)
  for (const image of document.querySelectorAll('img, svg')) {
    const isNamed = image.role === 'img' && image.ariaLabel?.trim()
    if (!image.hasAttribute('alt') && !image.hasAttribute('aria-hidden') && !isNamed)
      faults.push(`no text alternative: ${describe(image)}`)
  }
  if (/maximum-scale|user-scalable/.test(document.querySelector('meta[name=viewport]').content))
    faults.push('zoom is disabled')

  // Reflow (1.4.10)
  const { scrollWidth, clientWidth } = document.documentElement
  if (scrollWidth > clientWidth) faults.push(`wider than the screen: ${scrollWidth} of ${clientWidth}`)
  return faults
})()
