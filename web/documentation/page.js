/* global SwaggerUIBundle */
const { document: url } = document.querySelector('#swagger-ui').dataset
// The standalone layout has an inline style, which the page's policy forbids, and the validator would call a third party.
SwaggerUIBundle({ url, dom_id: '#swagger-ui', deepLinking: true, layout: 'BaseLayout', validatorUrl: null })
