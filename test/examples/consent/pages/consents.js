/* global document, fetch, FormData */
// Asks the service for the state of a grant. `actlog verify` checks the answer.
const state = document.getElementById('state');
document.getElementById('lookup').addEventListener('submit', (event) => {
  event.preventDefault();
  const id = new FormData(event.target).get('grant');
  fetch(`/consent/grants/${encodeURIComponent(id)}/status`)
    .then((answer) => answer.json())
    .then((body) => (state.textContent = body.state ?? body.error.message));
});
